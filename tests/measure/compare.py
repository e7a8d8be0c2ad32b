#!/usr/bin/env python3
"""Compares two builds of Volvox, in turns on one machine, so that a drift of the machine's speed meets both alike.

Usage: compare.py BEFORE AFTER [--rounds N] [--seconds S] [--json FILE] [MEASURE …]

BEFORE and AFTER are executables `volvox`, each in its build folder. Measures (default: all):

  empty      a cell that computes nothing, through one process, 64 in flight, then one after the other
  cluster    the same through a router and a node
  large      requests of 1 MiB through a router and a node, one after the other: processor time for each GB
  lstm       an LSTM of hidden 1024, real lengths, batch 64, saturated
  scheduler  `volvox-bench scheduler`, ns a cell
  instructions  the same by instructions, counted by valgrind, set-up included; one pair says it all, so it is not repeated

The load is offered by BEFORE to both. Prints for each figure the medians and the ratio after / before, pair by pair, as median
(least … most). The JSON has for each measure each figure's `before`, `after` (all values) and `ratio` (`median`, `least`, `most`).
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

from choosing import chosen  # noqa: E402
from cluster_processes import Cluster, Loopback  # noqa: E402
from cluster_speed import NOOP, add_heavy, heavy_client, send_heavy  # noqa: E402
from served import Server, cpu_s_of  # noqa: E402

CASES, COUNTED_CELLS = ("chain_64", "chain_512", "tree_64", "lattice_64"), 400_000
LSTM = """
[batching]
max_batch = 64
"""


def offer(loader, endpoint, folder, model, seconds, *options):
    """The report of a load that ran to its end."""
    report = pathlib.Path(folder) / "load.json"
    command = [loader, "load", "--connect", endpoint, "--model", model, "--seconds", str(seconds), "--json", str(report)]
    subprocess.run([*command, *map(str, options)], check=True, stdout=subprocess.DEVNULL)
    return json.loads(report.read_text(encoding="utf-8"))


def through(loader, endpoint, folder, seconds, cpu_s):
    """Figures of an empty cell: requests a second, µs of the servers' processors for each, µs of a lone one."""
    before = cpu_s()
    full = offer(loader, endpoint, folder, "noop", seconds, "--length", 1, "--concurrency", 64)
    used = cpu_s() - before
    lone = offer(loader, endpoint, folder, "noop", seconds / 2, "--length", 1, "--concurrency", 1)
    # The processor time also covers what the load calls its warm-up; it is part of both builds alike.
    return {"requests a second": full["throughput_rps"], "processor us a request": used / full["completed"] * 1e6,
            "lone p50 us": lone["latency_ms"]["p50"] * 1000}  # fmt: skip


def empty(volvox, loader, folder, seconds):
    server = Server(volvox, folder, (("noop", "noop"),), NOOP)
    try:
        return through(loader, server.endpoint, folder, seconds, lambda: cpu_s_of(server.process.pid))
    finally:
        server.stop()


def cluster(volvox, loader, folder, seconds):
    members = Cluster(volvox, folder, Loopback(), NOOP, routers=1, nodes=1)
    members.new_model("noop", "noop")
    try:
        members.start()
        return through(loader, members.routers[0].endpoint, folder, seconds, members.cpu_s)
    finally:
        members.end()


def large(volvox, _loader, folder, seconds):
    client = heavy_client()
    members = Cluster(volvox, folder, Loopback(), NOOP, routers=1, nodes=1)
    add_heavy(members)
    took_s, requests = [], int(seconds * 100)
    try:
        members.start()
        send_heavy(members, client, 10, [], rows=4)
        before = members.cpu_s()
        send_heavy(members, client, requests, took_s, rows=4)
        used = members.cpu_s() - before
    finally:
        members.end()
    gigabytes = requests * (1 << 20) / 1e9
    return {"processor s a GB": used / gigabytes, "p50 us": statistics.median(took_s) * 1e6}


def lstm(volvox, loader, folder, seconds):
    server = Server(volvox, folder, (("lstm", "lstm", "--hidden", "1024"),), LSTM)
    try:
        report = offer(loader, server.endpoint, folder, "lstm", 2 * seconds, "--concurrency", 256)
        return {"requests a second": report["throughput_rps"]}
    finally:
        server.stop()


def bench(volvox):
    found = pathlib.Path(volvox).parent / "simulation/bench/volvox-bench"
    if not found.exists():
        sys.exit(f"compare.py: {found} is missing: build it, too")
    return found


def scheduler(volvox, _loader, folder, _seconds):
    report = folder / "scheduler.json"
    subprocess.run([bench(volvox), "scheduler", "--repeat", "1", "--json", report], check=True, stdout=subprocess.DEVNULL)
    cases = json.loads(report.read_text(encoding="utf-8"))["cases"]
    return {f"{name} ns a cell": case["ns_per_cell"]["median"] for name, case in cases.items()}


def instructions(volvox, _loader, folder, _seconds):
    """Counted by valgrind, since virtual machines seldom count them: the same for each run of one build."""
    found = {}
    for case in CASES:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", bench(volvox), "scheduler", "--repeat", "1"]
        command += ["--case", case, "--cells", str(COUNTED_CELLS), "--warm-up-cells", str(COUNTED_CELLS // 4)]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
        total = next(line.split(":")[1] for line in said.splitlines() if "Collected" in line)
        found[f"{case} instructions a cell"] = int(total) / (COUNTED_CELLS * 1.25)
    return found


MEASURES = {"empty": empty, "cluster": cluster, "large": large, "lstm": lstm, "scheduler": scheduler, "instructions": instructions}


def judge(pairs):
    """pairs: [(figures before, figures after)] → figure → its values and ratios."""
    result = {}
    for name in pairs[0][0]:
        before, after = [pair[0][name] for pair in pairs], [pair[1][name] for pair in pairs]
        ratios = [new / old for old, new in zip(before, after)]
        spread = {"median": statistics.median(ratios), "least": min(ratios), "most": max(ratios)}
        result[name] = {"before": before, "after": after, "ratio": spread}
    return result


def show(measure, figures):
    for name, row in figures.items():
        before, after, ratio = statistics.median(row["before"]), statistics.median(row["after"]), row["ratio"]
        spread = f"{ratio['median']:.3f} ({ratio['least']:.3f} … {ratio['most']:.3f})"
        print(f"{measure}: {name}: {before:.4g} → {after:.4g}: {spread}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("measures", nargs="*", metavar="MEASURE", help="default: all")
    parser.add_argument("--rounds", type=int, default=9, help="pairs (default 9)")
    parser.add_argument("--seconds", type=float, default=4, help="of one load (default 4)")
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_intermixed_args()
    measures = chosen(parser, arguments.measures, MEASURES)
    report = {}
    for name in measures:
        pairs = []
        for turn in range(1 if name == "instructions" else arguments.rounds):
            pair = {}
            # Whoever comes second finds warmer caches: so they take turns.
            for which in ("before", "after") if turn % 2 == 0 else ("after", "before"):
                with tempfile.TemporaryDirectory() as folder:
                    pair[which] = MEASURES[name](getattr(arguments, which), arguments.before, pathlib.Path(folder), arguments.seconds)
            pairs.append((pair["before"], pair["after"]))
            print(f"{name}: pair {turn + 1} of {arguments.rounds}", file=sys.stderr, flush=True)
        report[name] = judge(pairs)
        show(name, report[name])
        if arguments.json:
            pathlib.Path(arguments.json).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
