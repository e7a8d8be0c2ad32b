#!/usr/bin/env python3
"""The eight models that ED-Batch is measured with, on real trees, sentences and lattices: batches and throughput.

Usage: eight_models.py --data FOLDER [--volvox PATH] [--bench PATH] [--hidden H …] [--models NAME …] [--seconds S] [--repeat N]
                       [--batch B] [--json FILE]

Each model, with random weights, of each width (that with matrices as states: up to 128):
  * is served by `volvox serve` under a closed loop with --verify: answers that differ from the reference in double precision count
    as wrong, and everything must be answered;
  * runs in `volvox-bench engine`, two threads, requests waiting: cell by cell, and merged, 64 requests at a time, by depth and by
    DyNet's agenda (batches of any size, up to what the scheduler may form). Repetitions are interleaved.
Once for each model `volvox-bench batches` counts the batches of 64 requests.

FOLDER holds sst_trees.test.txt, mt_lengths.wmt14_de_en.tsv and lattice_edbatch.jsonl. Prints tables in Markdown; --json writes all
figures. The exit status is 1 when an answer was wrong or missing, or cellular needs more batches than the agenda.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from served import Server  # noqa: E402

TREES = ("--trees", "sst_trees.test.txt")
# Kind: its shapes, and what `volvox load` names its inputs.
MODELS = {
    "tagger": (("--lengths", "mt_lengths.wmt14_de_en.tsv"), "tokens"),
    "char_tagger": (TREES, "tokens"),  # texts of as many words as leaves
    "tree_gru": (TREES, "tokens"),
    "tree_lstm": (TREES, "tokens"),
    "mv_rnn": (TREES, "tokens"),
    "tree_lstm_2type": (TREES, "tokens"),
    "lattice_lstm": (("--lattices", "lattice_edbatch.jsonl"), "characters,words"),
    "lattice_gru": (("--lattices", "lattice_edbatch.jsonl"), "characters,words"),
}
# Matrices as states: of full tasks they would need more memory than a device sets aside.
WIDEST, LARGEST_BATCH = {"mv_rnn": 128}, {"mv_rnn": 64}
VOCABULARY = "1000"
WINDOW = 64  # requests that depth and agenda merge


def run(command, report=None):
    """Runs it. What it wrote to `report` counts even where the command is not content with it."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if report is not None and report.exists() and report.stat().st_size > 0:
        return json.loads(report.read_text(encoding="utf-8"))
    if report is not None or done.returncode != 0:
        raise RuntimeError(" ".join(map(str, command)) + "\n" + done.stdout[-1000:] + done.stderr[-1000:])
    return None


def shapes_of(options, kind):
    option, file = MODELS[kind][0]
    return [option, options.data / file]


def served(options, folder, kind, hidden):
    """The report of a load of the model, which is left in the folder."""
    shape = (kind, "m", "--hidden", str(hidden), "--vocabulary", VOCABULARY)
    server = Server(options.volvox, folder, [shape])
    try:
        report = pathlib.Path(folder) / "load.json"
        command = [options.volvox, "load", "--connect", server.endpoint, "--metrics", server.metrics, "--model", "m", "--input", MODELS[kind][1]]
        command += ["--vocabulary", VOCABULARY, "--concurrency", "128", "--seconds", options.seconds, "--json", report]
        command += ["--verify", pathlib.Path(folder) / "models" / "m", "--verify-count", "50", *shapes_of(options, kind)]
        return run(command, report)
    finally:
        server.kill()


def computed(options, model, kind):
    """The report of the engine, policy by policy."""
    batch = LARGEST_BATCH.get(kind, options.batch)
    with tempfile.TemporaryDirectory(prefix="volvox-eight-") as folder:
        report = pathlib.Path(folder) / "engine.json"
        command = [options.bench, "engine", "--model", model, *shapes_of(options, kind), "--threads", "2", "--fold", "off", "--backlog"]
        command += ["--policy", f"cellular:{batch}", f"depth:{batch}:{WINDOW}", f"agenda:{batch}:{WINDOW}"]
        command += ["--seconds", options.seconds, "--warm-up", "0.3", "--repeat", options.repeat, "--json", report]
        return run(command, report)


def counted(options, folder, kind):
    """Batches of 64 requests, by each way to form them; the width does not matter, but matrices as states need memory."""
    model = pathlib.Path(folder) / "narrow"
    run([options.volvox, "models", "new", kind, model, "--hidden", "4", "--vocabulary", VOCABULARY])
    report = pathlib.Path(folder) / "batches.json"
    return run([options.bench, "batches", "--model", model, *shapes_of(options, kind), "--requests", "64", "--json", report], report)


def batches_table(figures):
    lines = ["| model | cells | cellular | depth | agenda | lower bound |", "|---|---|---|---|---|---|"]
    for kind, seen in figures.items():
        counts = [seen["batches"][key] for key in ("cells", "cellular", "depth", "agenda", "lower_bound")]
        lines.append(f"| {kind} | " + " | ".join(f"{count:,}" for count in counts) + " |")
    return "\n".join(lines) + "\n"


def speed(runs, policy):
    """Requests a second under a policy, repetition by repetition."""
    return next(run for run in runs if run["policy"] == policy)["throughput_rps"]["values"]


def spread(values, digits):
    return f"{statistics.median(values):,.{digits}f} ({min(values):,.{digits}f} … {max(values):,.{digits}f})"


def speeds_table(figures):
    lines = ["| model | hidden | served | cellular | depth | agenda | cellular / the better | of the peak |", "|---|---|---|---|---|---|---|---|"]
    for kind, seen in figures.items():
        for hidden, width in seen["widths"].items():
            runs = width["engine"]["runs"]
            cellular, depth, agenda = (speed(runs, policy) for policy in ("cellular", "depth", "agenda"))
            ratios = [mine / max(others) for mine, *others in zip(cellular, depth, agenda)]
            useful = next(run for run in runs if run["policy"] == "cellular")["useful_gflops"]["median"]
            share = useful / (width["engine"]["fma_peak_gflops"] or float("inf"))
            cells = [kind, str(hidden), f"{width['served']['throughput_rps']:,.0f}", spread(cellular, 0), spread(depth, 0)]
            cells += [spread(agenda, 0), spread(ratios, 2), f"{share:.2f}" if share >= 0.005 else "not counted"]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def offences(figures):
    """What must not be; each is told."""
    found = []
    for kind, seen in figures.items():
        if seen["batches"]["cellular"] > seen["batches"]["agenda"]:
            found.append(f"{kind}: more batches than by the agenda")
        for hidden, width in seen["widths"].items():
            load = width["served"]
            if load["wrong"] or load["verified"] == 0 or load["errors"] or load["completed"] < load["offered"]:
                found.append(f"{kind} {hidden}: served {load['wrong']} wrong of {load['verified']}, errors {load['errors']}")
            if any(run["mismatched"] or run["failed"] for run in width["engine"]["runs"]):
                found.append(f"{kind} {hidden}: the engine's answers differ between policies, or failed")
    for line in found:
        print(f"eight_models.py: {line}", file=sys.stderr)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=pathlib.Path, required=True, help="folder of the real shapes")
    parser.add_argument("--volvox", default=str(ROOT / "build" / "release" / "volvox"))
    parser.add_argument("--bench", default=str(ROOT / "build" / "release" / "simulation" / "bench" / "volvox-bench"))
    parser.add_argument("--hidden", type=int, nargs="+", default=[32, 64, 256, 512])
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--seconds", type=float, default=2, help="of each measurement")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--batch", type=int, default=256, help="rows of a task at most")
    parser.add_argument("--json", help="where to write the figures, too")
    options = parser.parse_args()

    figures = {}
    for kind in options.models:
        widths = [h for h in options.hidden if h <= WIDEST.get(kind, h)]
        if kind in WIDEST and len(widths) < len(options.hidden):
            widths = sorted({*widths, WIDEST[kind]})
        with tempfile.TemporaryDirectory(prefix="volvox-eight-") as folder:
            figures[kind] = {"batches": counted(options, folder, kind), "widths": {}}
        for hidden in widths:
            with tempfile.TemporaryDirectory(prefix="volvox-eight-") as folder:
                seen = served(options, folder, kind, hidden)
                bench = computed(options, pathlib.Path(folder) / "models" / "m", kind)
            figures[kind]["widths"][hidden] = {"served": seen, "engine": bench}
            print(f"{kind} {hidden}: done", file=sys.stderr, flush=True)
            if options.json:
                pathlib.Path(options.json).write_text(json.dumps(figures, indent=1), encoding="utf-8")
    print(batches_table(figures))
    print(speeds_table(figures))
    return 1 if offences(figures) else 0


if __name__ == "__main__":
    sys.exit(main())
