#!/usr/bin/env python3
"""Repeats what a paper measures, on a cluster of this machine: the servers that a scenario names, side by side, by turns.

Usage: run.py NAME… [--data DIR] [--hidden N] [--max-batch N] [--shares S …] [--rounds N] [--seconds S] [--out DIR] [--volvox PATH]
       run.py --list

A scenario is a file NAME.toml in this folder (its keys: docs/load.md). For each of its servers a router and a node are started,
asked for more than they can do, which tells their saturated rate, and then offered load at rates that are shares of what the
scenario's `padded` server, or the one that it calls its base, can do at most. All servers take turns in each round. The report, DIR/NAME.json, holds every load's
report; what is printed are medians over the rounds, with the least and the most of them.

DIR of --data holds the real sentence lengths that a scenario names (`source<TAB>target` a line); without it lengths are drawn by
the load generator, and the report says so.
"""

import argparse
import contextlib
import json
import os
import pathlib
import platform
import random
import re
import shlex
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SHARES = {"curve": [0.25, 0.5, 0.75, 1.0, 1.15], "low": [0.25], "burst": []}
START_SECONDS = 60  # until a cluster answers
TURNS = 6  # so often all that waits is answered while it is measured what a server does at most,
LONGEST_SATURATED_SECONDS = 90  # in so long a time


class Failed(Exception):
    """What cannot be measured here, and why."""


def read_scenario(path):
    """The scenario in `path`. Failed, if it says what no scenario says."""
    with open(path, "rb") as file:
        scenario = tomllib.load(file)
    known = {"title", "paper", "measure", "model", "lengths", "sequences", "longest", "length", "trees", "complete_tree", "base", "server"}
    strange = sorted(set(scenario) - known)
    if strange:
        raise Failed(f"{path.name}: unknown keys: {', '.join(strange)}")
    for key in ("title", "paper", "measure", "model", "server"):
        if key not in scenario:
            raise Failed(f"{path.name}: {key} is missing")
    if scenario["measure"] not in SHARES:
        raise Failed(f"{path.name}: measure is one of {', '.join(SHARES)}")
    names = [server.get("name", "") for server in scenario["server"]]
    if len(set(names)) != len(names) or "" in names:
        raise Failed(f"{path.name}: each server has a name of its own")
    base = scenario.setdefault("base", "padded")
    if base not in names or "cellular" not in names:
        raise Failed(f"{path.name}: one server is called {base}, and one cellular: rates are shares of what {base} can do")
    return scenario


def scenarios():
    """All of them, by name."""
    return {path.stem: path for path in sorted(HERE.glob("*.toml"))}


def complete_tree(leaves):
    """The complete binary tree of so many leaves, a power of two, in brackets."""
    if leaves == 1:
        return "(0 w)"
    if leaves < 1 or leaves % 2:
        raise Failed("a complete binary tree has 1, 2, 4, 8, … leaves")
    half = complete_tree(leaves // 2)
    return f"(0 {half} {half})"


class Workplace:
    """What is written for a scenario: its model, the configurations of its servers, and the lengths of its sentences."""

    def __init__(self, options, scenario, folder):
        self.options, self.scenario, self.folder = options, scenario, folder
        self.steps = 0  # of the longest answer of a sequence that ends by itself
        self.shape, self.data = self.write_lengths()
        self.write_model()

    @staticmethod
    def run(command):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f"{shlex.join(map(str, command))}: {done.stderr.strip() or done.stdout.strip()}")

    def write_model(self):
        command = [self.options.volvox, "models", "new", self.scenario["model"][0], str(self.folder / "models" / "m"), "--hidden",
                   str(self.options.hidden), "--vocabulary", str(self.options.vocabulary), *self.scenario["model"][1:]]
        if self.steps == 0:
            self.run(command)
            return
        self.run([*command, "--steps", str(self.steps)])
        # No token ends an answer: each is as long as its request allows.
        path = self.folder / "models" / "m" / "model.toml"
        text, count = re.subn(r"(?m)^equals = 0$", "equals = -1", path.read_text(encoding="utf-8"))
        if count != 1:
            raise Failed(f"{self.scenario['model'][0]} is no model with one sequence that ends by itself, with the token 0")
        path.write_text(text, encoding="utf-8")

    def write_lengths(self):
        """The load's options that say how long requests are, and in words where the lengths are from."""
        scenario = self.scenario
        if "trees" in scenario:
            if scenario["trees"] != "random" and self.options.data:
                path = pathlib.Path(self.options.data) / scenario["trees"]
                if not path.is_file():
                    raise Failed(f"{path} is not there")
                return ["--trees", str(path)], scenario["trees"]
            return ["--trees", "random"], "random trees"
        if "complete_tree" in scenario:
            leaves = scenario["complete_tree"]
            path = self.folder / "tree.txt"
            path.write_text(complete_tree(leaves) + "\n", encoding="utf-8")
            return ["--trees", str(path)], f"complete binary trees of {leaves} leaves"
        if "length" in scenario:
            return ["--length", str(scenario["length"])], f"{scenario['length']} steps each"
        if not self.options.data:
            if "longest" in scenario or "sequences" in scenario:
                raise Failed("it takes its lengths from real ones: --data says where they are")
            return [], "lengths drawn by the load generator"
        source = pathlib.Path(self.options.data) / scenario["lengths"]
        try:
            lines = source.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise Failed(f"{source}: {error.strerror}") from error
        longest = scenario.get("longest", 0)
        kept = [line for line in lines if longest == 0 or int(line.split("\t")[0]) <= longest]
        if not kept:
            raise Failed(f"{source} has no sentence of at most {longest} words")
        target = self.folder / "lengths.tsv"
        target.write_text("\n".join(kept) + "\n", encoding="utf-8")
        bound = f", of at most {longest} words" if longest else ""
        if "sequences" not in scenario:
            return ["--lengths", str(target)], f"{scenario['lengths']}: {len(kept)} sentences{bound}"
        if not all("\t" in line for line in kept):
            raise Failed(f"{source} has no pairs of lengths")
        self.steps = max(int(line.split("\t")[1]) for line in kept)
        return ["--lengths", str(target), "--sequences", scenario["sequences"]], f"{scenario['lengths']}: {len(kept)} pairs of sentences{bound}"

    def config(self, server):
        """The configuration of one of the servers."""
        own = {"max_batch": self.options.max_batch, **{k: v for k, v in server.items() if k != "name"}}
        lines = ["[batching]"] + [f"{key} = {json.dumps(value)}" for key, value in own.items()]
        lines += ["[device]", f"compute_threads = {self.options.threads}"]
        path = self.folder / f"{server['name'].replace(' ', '-').replace(',', '')}.toml"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path


def free_ports(count=4):
    """The first of so many ports of the loopback interface that nobody uses just now."""
    for _ in range(1000):
        first = random.randrange(20000, 32000)
        with contextlib.ExitStack() as held:
            try:
                for port in range(first, first + count):
                    held.enter_context(socket.socket()).bind(("127.0.0.1", port))
            except OSError:
                continue
            return first
    raise Failed(f"no {count} ports are free beside each other")


@contextlib.contextmanager
def cluster(work, server):
    """A router and a node with the server's configuration; yields the clients' address and the router's metrics."""
    port = free_ports()
    log_path = work.folder / "cluster.log"
    with open(log_path, "w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [str(ROOT / "deploy" / "local-cluster.sh"), "--routers", "1", "--nodes", "1", "--models",
             str(work.folder / "models"), "--config", str(work.config(server)), "--port", str(port)],
            env={**os.environ, "VOLVOX": str(work.options.volvox)}, stdout=log, stderr=log, start_new_session=True)
        try:
            doors = ["--connect", f"tcp://127.0.0.1:{port}", "--metrics", f"http://127.0.0.1:{port + 2}"]
            until = time.monotonic() + START_SECONDS
            while True:
                if process.poll() is not None or time.monotonic() > until:
                    raise Failed(f"the cluster does not answer: {log_path.read_text(encoding='utf-8')[-2000:]}")
                probe = subprocess.run([work.options.volvox, "load", *doors, "--model", "m", "--requests", "1", "--concurrency", "1", "--warmup", "0",
                                        "--timeout", "5", "--require-all", *work.shape, *vocabulary(work)],
                                       capture_output=True, check=False)
                if probe.returncode == 0:
                    break
                time.sleep(0.2)
            yield doors
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def vocabulary(work):
    return ["--vocabulary", str(work.options.vocabulary)]


def load(work, doors, options, seconds, warmup=2.0):
    """One load's report."""
    path = work.folder / "load.json"
    path.unlink(missing_ok=True)
    command = [work.options.volvox, "load", *doors, "--model", "m", "--seconds", str(seconds), "--warmup", str(min(warmup, seconds / 3)), "--timeout", "120", "--json",
               str(path), *work.shape, *vocabulary(work), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not path.is_file():
        raise Failed(f"{shlex.join(map(str, command))}: {done.stderr.strip()}")
    report = json.loads(path.read_text(encoding="utf-8"))
    # What a server refuses because it is asked for more than it can do belongs to the figure.
    answered = report["completed"] + report["errors"].get("OVERLOADED", 0)
    if answered < report["offered"] / 2 or report["completed"] == 0:
        raise Failed(f"{shlex.join(map(str, command))}: most requests failed: {report['errors']}")
    return report


def saturate(work, doors):
    """What the server does at most. Whole groups of `padded` end at once, so what waits must be answered several times over."""
    depth = work.options.backlog * work.options.max_batch
    command = ["--concurrency", str(depth)]
    turn = LONGEST_SATURATED_SECONDS / TURNS
    with contextlib.suppress(Failed):  # nothing may have ended in so short a time
        report = load(work, doors, command, work.options.seconds)
        turn = depth / report["throughput_rps"]
        if turn * TURNS <= work.options.seconds:
            return report
    return load(work, doors, command, min(TURNS * turn, LONGEST_SATURATED_SECONDS), warmup=turn)


def burst(work, doors, base_rps):
    """Calm at a quarter of what the base can do, and for half a second of each three half as much again as it can do."""
    file = work.folder / "burst.toml"
    file.write_text(
        f"[arrivals]\nkind = \"bursts\"\nrate = {1.5 * base_rps}\non_seconds = 0.5\n"
        f"off_rate = {0.25 * base_rps}\noff_seconds = 2.5\n[[request]]\nmodel = \"m\"\nvocabulary = {work.options.vocabulary}\n"
        + "".join(f"{option[2:]} = {json.dumps(value if option != '--length' else int(value))}\n"
                  for option, value in zip(work.shape[::2], work.shape[1::2])), encoding="utf-8")
    return load(work, doors, ["--workload", str(file)], max(6, work.options.seconds))


def measure_round(work, say):
    """One round: what each server can do, and its loads. {server: {"saturated": report, "loads": {share: report}}}"""
    results = {}
    servers, first = work.scenario["server"], work.scenario["base"]
    for server in sorted(servers, key=lambda s: s["name"] != first):
        name = server["name"]
        with cluster(work, server) as doors:
            results[name] = {"saturated": saturate(work, doors), "loads": {}}
            own = results[name]["saturated"]["throughput_rps"]
            base = results[first]["saturated"]["throughput_rps"]
            say(f"{name}: {own:.0f} requests/s saturated")
            for share in work.options.shares or SHARES[work.scenario["measure"]]:
                if share * base > 1.1 * own:
                    continue
                report = load(work, doors, ["--rate", f"{share * base:.3f}"], work.options.seconds)
                results[name]["loads"][str(share)] = report
                say(f"{name}: at {share} of {first}'s rate p90 {report['latency_ms']['p90']:.1f} ms")
            if work.scenario["measure"] == "burst":
                report = results[name]["loads"]["burst"] = burst(work, doors, base)
                say(f"{name}: in bursts p99 {report['latency_ms']['p99']:.1f} ms")
    return results


def spread(values):
    return {"median": statistics.median(values), "least": min(values), "most": max(values)}


def times(report):
    return {f"{what}_{p}": report[f"{what}_ms"][p] for what in ("latency", "queue", "compute") for p in ("p50", "p90", "p99")}


def summarise(rounds, base="padded"):
    """By server: its figures over the rounds, and its ratios to the base of the same round."""
    summary = {}
    for name in rounds[0]:
        own = [r[name] for r in rounds]
        figures = {"saturated_rps": spread([r["saturated"]["throughput_rps"] for r in own]),
                   "saturated_ratio": spread([r[name]["saturated"]["throughput_rps"] / r[base]["saturated"]["throughput_rps"]
                                              for r in rounds]),
                   "loads": {}}
        for share in own[0]["loads"]:
            both = [r for r in rounds if share in r[name]["loads"]]
            reports = [r[name]["loads"][share] for r in both]
            figures["loads"][share] = {
                "throughput_rps": spread([report["throughput_rps"] for report in reports]),
                "failed": sum(sum(report["errors"].values()) for report in reports),
                **{key: spread([times(report)[key] for report in reports]) for key in times(reports[0])}}
            others = [r[base]["loads"].get(share) for r in both]
            if all(others):
                figures["loads"][share]["p90_ratio"] = spread(
                    [times(report)["latency_p90"] / max(1e-9, times(other)["latency_p90"])
                     for report, other in zip(reports, others)])
        summary[name] = figures
    return summary


def shown(figure, digits=1):
    return f"{figure['median']:.{digits}f} ({figure['least']:.{digits}f} … {figure['most']:.{digits}f})"


def table(summary, measure, base):
    """What is printed: Markdown."""
    lines = [f"| server | saturated, requests/s | of {base}'s |", "|---|---|---|"]
    lines += [f"| {name} | {shown(f['saturated_rps'], 0)} | {shown(f['saturated_ratio'], 2)} |" for name, f in summary.items()]
    what = ("latency_p50", "latency_p90", "latency_p99") if measure != "low" else ("queue_p50", "queue_p99", "compute_p50", "compute_p99")
    lines += ["", "| server | load | " + " | ".join(f"{key.replace('_', ' ')} ms" for key in what) + f" | p90 of {base}'s |",
              "|---|---|" + "---|" * (len(what) + 1)]
    for name, figures in summary.items():
        for share, load_figures in figures["loads"].items():
            ratio = shown(load_figures["p90_ratio"], 2) if "p90_ratio" in load_figures else ""
            lines.append(f"| {name} | {share} | " + " | ".join(shown(load_figures[key]) for key in what) + f" | {ratio} |")
    return "\n".join(lines)


def processor():
    with contextlib.suppress(OSError):
        for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def run(name, path, options):
    scenario = read_scenario(path)
    print(f"{name}: {scenario['title']}", file=sys.stderr)

    def say(text):
        print(f"{name}: {text}", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory(prefix="volvox-scenario-") as folder:
        work = Workplace(options, scenario, pathlib.Path(folder))
        rounds = []
        for number in range(options.rounds):
            say(f"round {number + 1} of {options.rounds}")
            rounds.append(measure_round(work, say))
        summary = summarise(rounds, scenario["base"])
        report = {"scenario": name, "title": scenario["title"], "paper": scenario["paper"], "measure": scenario["measure"], "base": scenario["base"], "data": work.data,
                  "machine": {"processor": processor(), "cores": os.cpu_count()},
                  "options": {key: getattr(options, key) for key in ("hidden", "vocabulary", "max_batch", "threads", "rounds", "seconds")},
                  "summary": summary, "rounds": rounds}
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / f"{name}.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(f"\n## {scenario['title']} ({name})\n\n{scenario['paper']}\n\nHidden {options.hidden}, {work.data}; {options.rounds} rounds; "
          f"{processor()}, {os.cpu_count()} cores.\n\n{table(summary, scenario['measure'], scenario['base'])}\n", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="*", metavar="NAME", help="scenarios; 'all' for each of them")
    parser.add_argument("--list", action="store_true", help="say which scenarios there are, and leave")
    parser.add_argument("--volvox", default=ROOT / "build" / "release" / "volvox", type=pathlib.Path, help="the program (default %(default)s)")
    parser.add_argument("--data", type=pathlib.Path, help="folder with files of real lengths and trees (default: none)")
    parser.add_argument("--hidden", type=int, default=512, help="width of the models (default %(default)s)")
    parser.add_argument("--vocabulary", type=int, default=8000, help="token ids (default %(default)s)")
    parser.add_argument("--max-batch", type=int, default=64, help="rows of a task (default %(default)s)")
    parser.add_argument("--backlog", type=int, default=8, help="saturated: requests in flight for each row of a task (default %(default)s)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads of the node's queue (default: one for each core)")
    parser.add_argument("--shares", type=float, nargs="+", metavar="SHARE", help="rates to offer, as shares of the base's (default: the scenario's)")
    parser.add_argument("--rounds", type=int, default=5, help="default %(default)s")
    parser.add_argument("--seconds", type=float, default=8, help="of each load (default %(default)s)")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("scenarios"), help="folder for reports (default %(default)s)")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that no cluster is left behind
    known = scenarios()
    try:
        if options.list:
            for name, path in known.items():
                print(f"{name:16} {read_scenario(path)['title']}")
            return 0
        names = list(known) if options.name == ["all"] else options.name
        if not names:
            parser.error("which scenario? --list says which there are")
        strange = [name for name in names if name not in known]
        if strange:
            parser.error(f"no scenario is called {', '.join(strange)}; there are {', '.join(known)}")
        whole = (options.rounds, options.hidden, options.max_batch, options.backlog, options.threads, options.vocabulary)
        if min(whole) < 1 or min(options.seconds, *(options.shares or [1])) <= 0:
            parser.error("numbers are positive")
        if not os.access(options.volvox, os.X_OK):
            raise Failed(f"{options.volvox} is not there; build it, or say --volvox")
        for name in names:
            run(name, known[name], options)
        return 0
    except Failed as error:
        print(f"run.py: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
