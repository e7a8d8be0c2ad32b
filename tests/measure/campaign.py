#!/usr/bin/env python3
"""The campaign: real clusters and servers are done harm to for minutes, clients write down all that they see, and a checker then
looks for an answer that cannot be, is missing, or came twice.

Usage: campaign.py [--volvox PATH] [--seconds S] [--only J1,J5] [--jobs N] [--results FOLDER] [--resume] [--planted]

Each scenario (--list tells what they do) leaves FOLDER/NAME.json: `status`, `violations` (kind, what was seen), `figures` (each with
`is`, and `at_most` or `at_least`), `counts` of what the clients saw, `commit`; where it does not hold, also the processes' logs and
the histories, FOLDER/NAME/, at which `campaign_checker.py FOLDER/NAME/histories` looks again. With --resume those that have a
result for the same executable and time are not run again. --planted builds Volvox with each of the mistakes in plants/ and asks
that the checker finds it.

A scenario holds; is violated; is void: it ran, and showed too little to say anything; or is not run: this machine cannot do it, and the
line says why. The exit status is 0 when all hold, 1 when one is violated, void or failed, else 77 when one was not run.
Scenarios that need network namespaces or control groups need root; all need cc and Debian's python3-zmq.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

import campaign_history  # noqa: E402, F401  it knows where the client library is
import campaign_doors as doors  # noqa: E402
import campaign_links as links  # noqa: E402
import campaign_operator as operator  # noqa: E402
import campaign_starved as starved  # noqa: E402
from campaign_world import World  # noqa: E402
from cluster_processes import Unfit  # noqa: E402

SCENARIOS = {
    "J0": links.no_harm, "J1": links.routers_stand_still, "J2": links.homes_die_in_sends, "J3": links.one_way_cuts,
    "J4": links.slow_link, "J5": links.nodes_flap, "J6": links.routers_disagree, "J7": doors.routers_restart,
    "J8": operator.drain_storms, "J9": operator.rolling_reloads, "J10": starved.descriptors, "J11": starved.memory,
    "J12": starved.allocations, "J13": links.processor_quota, "J14": operator.clocks_and_keys, "J15": doors.identities,
    "J16": starved.blocked_log, "J17": operator.hanging_moves,
}  # fmt: skip
ALONE = ("J3", "J4")  # whose bounds are in time
OVERTIME_S = 420.0  # that a scenario may take beyond its seconds
MARKS = {"holds": 0, "not run": 77}


def run_here(name, volvox, seconds, seed, kept):
    """One scenario, in this process."""
    with tempfile.TemporaryDirectory(prefix=f"volvox-{name}-") as folder:
        world = World(volvox, folder, seconds, seed)
        try:
            SCENARIOS[name](world)
            report = world.report()
        except Unfit as why:
            report = {"status": "not run", "why": str(why)}
        except Exception:  # noqa: BLE001  whatever it is, the result says so
            words = world.cluster.last_words().splitlines()[-40:] if world.cluster else []
            report = {"status": "failed", "why": traceback.format_exc(), "last_words": words}
        finally:
            world.close()
        if report["status"] not in MARKS:
            shutil.rmtree(kept, ignore_errors=True)
            ignored = shutil.ignore_patterns("*.sock", "models", "*.so")
            shutil.copytree(folder, kept, ignore=ignored)
    return report


def commit():
    """That of the tree, or nothing: a tree that was unpacked has none, and neither has a machine without git."""
    if not shutil.which("git"):
        return ""
    return subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


class Campaign:
    """What is run, and where the results are."""

    def __init__(self, arguments):
        self.arguments, self.results = arguments, pathlib.Path(arguments.results)
        self.results.mkdir(parents=True, exist_ok=True)
        binary = pathlib.Path(arguments.volvox).stat()
        self.facts = {"seconds": arguments.seconds, "binary": [binary.st_size, binary.st_mtime_ns], "commit": commit()}
        self.running = {}  # name → (process, when it must have ended)

    def file(self, name):
        return self.results / f"{name}.json"

    def result(self, name):
        """That of an earlier run of the same executable, or None."""
        if not self.file(name).exists():
            return None
        report = json.loads(self.file(name).read_text(encoding="utf-8"))
        same = report["binary"] == self.facts["binary"] and report["seconds"] == self.facts["seconds"]
        return report if same and report["status"] != "failed" else None

    def start(self, name):
        arguments = self.arguments
        command = [sys.executable, "-B", __file__, "--volvox", arguments.volvox, "--seconds", arguments.seconds]
        command += ["--results", self.results, "--seed", arguments.seed, "--here", name]
        process = subprocess.Popen(list(map(str, command)))
        self.running[name] = process, time.monotonic() + arguments.seconds + OVERTIME_S
        print(f"{name}: begins; {what(name)}", flush=True)

    def reap(self):
        for name, (process, until) in list(self.running.items()):
            if process.poll() is None and time.monotonic() > until:
                process.terminate()
                try:
                    process.wait(30)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            if process.poll() is not None:
                del self.running[name]
                yield name

    def run(self, names):
        """name → report."""
        reports = {name: report for name in names if self.arguments.resume and (report := self.result(name))}
        for name in names:
            if name not in reports:
                self.file(name).unlink(missing_ok=True)
        waiting = [name for name in names if name not in reports]
        try:
            while waiting or self.running:
                for name in self.reap():
                    reports[name] = self.result(name) or {"status": "failed", "why": "it left no result"}
                    say(name, reports[name])
                self.start_some(waiting)
                time.sleep(0.2)
        finally:
            for process, _ in self.running.values():
                process.terminate()
            for process, _ in self.running.values():
                process.wait()
        return {name: reports[name] for name in names}

    def start_some(self, waiting):
        """Those that need the machine for themselves come last."""
        for name in sorted(waiting, key=lambda name: name in ALONE):
            busy = len(self.running)
            if busy >= self.arguments.jobs or (busy and (name in ALONE or any(other in ALONE for other in self.running))):
                return
            waiting.remove(name)
            self.start(name)

    def run_one(self, name):
        """In a process of its own, started by start()."""
        report = run_here(name, self.arguments.volvox, self.arguments.seconds, self.arguments.seed, self.results / name)
        report = {"scenario": name, "what": what(name)} | report | self.facts
        self.file(name).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def what(name):
    """The first line of its words, without the name."""
    return " ".join(SCENARIOS[name].__doc__.split()).removeprefix(f"{name}: ")


def say(name, report):
    print(f"{name}: {report['status']}{': ' + report['why'] if 'why' in report else ''}", flush=True)
    for kind, seen in report.get("violations", [])[:8]:
        print(f"    {kind}: {seen[-600:]}")
    for missed in [*report.get("missed", []), *report.get("void", [])]:
        print(f"    {missed}: {report['figures'][missed]}")
    for note in report.get("notes", []):
        print(f"    {note}")


def summary(reports):
    print(f"\n{'':4} {'status':9} {'requests':>9} {'good':>9} {'parts':>7} {'replaced':>8} {'repeated':>8}  violations")
    for name, report in reports.items():
        counts = report.get("counts", {})
        numbers = [counts.get(key, 0) for key in ("requests", "OK", "parts", "parts replaced after an error", "parts repeated")]
        columns = "{:>9} {:>9} {:>7} {:>8} {:>8}".format(*numbers)
        print(f"{name:4} {report['status']:9} {columns}  {report.get('violations_in_all', '')}")
    states = [report["status"] for report in reports.values()]
    not_run = [name for name, report in reports.items() if report["status"] == "not run"]
    if not_run:
        print(f"\nNOT RUN: {', '.join(not_run)}. What they would show is not shown.")
    return 1 if any(state not in MARKS for state in states) else 77 if not_run else 0


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--volvox", default=str(ROOT / "build/release/volvox"), help="the executable")
    parser.add_argument("--seconds", type=float, default=180, help="of each scenario (default 180)")
    parser.add_argument("--only", default=",".join(SCENARIOS), metavar="J1,J5", help="these scenarios alone")
    parser.add_argument("--jobs", type=int, default=1, help="scenarios at a time (default 1)")
    parser.add_argument("--results", default=str(ROOT / "build/campaign"), metavar="FOLDER", help="default build/campaign")
    parser.add_argument("--resume", action="store_true", help="keep the results that are there")
    parser.add_argument("--seed", type=int, default=1, help="of the faults")
    parser.add_argument("--list", action="store_true", help="say what the scenarios do, and leave")
    parser.add_argument("--planted", action="store_true", help="build the mistakes in plants/, and ask that each is found")
    parser.add_argument("--here", choices=SCENARIOS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.names = arguments.only.split(",")
    if unknown := [name for name in arguments.names if name not in SCENARIOS]:
        parser.error(f"there is no scenario {', '.join(unknown)}; --list tells which there are")
    return arguments


def main():
    arguments = parse()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if arguments.list:
        for name in SCENARIOS:
            print(f"{name:4} {what(name)}")
        return 0
    if arguments.planted:
        import campaign_plants

        return campaign_plants.find_all(arguments)
    if not os.access(arguments.volvox, os.X_OK):
        sys.exit(f"campaign.py: there is no executable {arguments.volvox}; build it, or name it with --volvox")
    campaign = Campaign(arguments)
    if arguments.here:
        campaign.run_one(arguments.here)
        return 0
    return summary(campaign.run(arguments.names))


if __name__ == "__main__":
    sys.exit(main())
