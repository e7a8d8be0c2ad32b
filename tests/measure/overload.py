#!/usr/bin/env python3
"""Measures what an overload does: twice and ten times what a server can do, every request with a deadline, and clients beside
that never read or vanish.

Usage: overload.py [--volvox PATH] [--seconds S] [--json FILE]

Serves a `check` model on the `timed` device (a task takes 2 ms, 8 rows at most, requests of 20 steps: 200 a second) and
drives it with `volvox load`, deadlines of 500 ms, every answer checked. Keys: `capacity_rps` (a closed loop's), `normal`, `twice`,
`tenfold`, `after` (reports of `volvox load`; `after` begins 2 s after `tenfold` has ended), `idle_mib`, `peak_mib`, `limit_mib`
(`idle_mib`, the configured bounds on bytes, and 64), `answers` (the server's own count, by outcome), `figures` (each with `is`,
`at_most` or `at_least`), `holds`.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from served import Server  # noqa: E402

RATE, LENGTH, DEADLINE_MS, BYTES_MIB, SLACK_MIB = 200, 20, 500, 3 * 16, 64
CONFIG = """
[admin]
socket = ""
[device]
kind = "timed"
timed_task_us = 2000.0
timed_row_us = 0.0
[batching]
max_batch = 8
max_tasks_to_submit = 2
[limits]
max_request_mib_in_flight = 16
max_result_mib_in_flight = 16
max_reply_mib_waiting = 16
max_reply_mib_per_client = 4
"""


class Loaded:
    """A server, and what loads it."""

    def __init__(self, volvox, server):
        self.volvox, self.server = volvox, server

    def load(self, *options):
        folder = self.server.folder
        report = folder / "load.json"
        command = [self.volvox, "load", "--connect", self.server.endpoint, "--metrics", self.server.metrics, "--model", "check"]
        command += ["--models", str(folder / "models"), "--length", str(LENGTH), "--json", str(report)]
        done = subprocess.run([*command, *map(str, options)], stdout=subprocess.DEVNULL, check=False)
        loaded = json.loads(report.read_text(encoding="utf-8"))
        if done.returncode != 0 or loaded["wrong"] or loaded["duplicates"]:
            sys.exit(f"overload.py: a load failed: {loaded}")
        return loaded

    def open_load(self, times, seconds, *options):
        return self.load("--rate", times * RATE, "--seconds", seconds, "--deadline-ms", DEADLINE_MS, *options)


class Peak:
    """The most memory that the server has had while this is open."""

    def __init__(self, server):
        self.server, self.mib, self.over = server, 0.0, threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def watch(self):
        while not self.over.wait(0.05):
            self.mib = max(self.mib, self.server.rss_mib())


def measure(volvox, server, seconds):
    report, loaded = {}, Loaded(volvox, server)
    report["capacity_rps"] = loaded.load("--concurrency", 64, "--seconds", seconds / 2)["throughput_rps"]
    report["normal"] = loaded.open_load(0.5, seconds / 2)
    report["idle_mib"] = server.rss_mib()
    report["twice"] = loaded.open_load(2, seconds)
    with Peak(server) as peak:
        report["tenfold"] = loaded.open_load(10, seconds, "--never-read", 50, "--vanish", 50)
        time.sleep(2)
    report["after"] = loaded.open_load(0.5, seconds / 2, "--warmup", 0)
    report["peak_mib"], report["answers"] = peak.mib, server.answers()
    report["limit_mib"] = report["idle_mib"] + BYTES_MIB + SLACK_MIB
    return report


def judge(report):
    twice, tenfold, normal, after = (report[name] for name in ("twice", "tenfold", "normal", "after"))
    unexplained = sum(sum(count for code, count in load["errors"].items() if code != "OVERLOADED") for load in (twice, tenfold))
    figures = {
        "goodput at 2x / capacity": {"is": twice["goodput_rps"] / report["capacity_rps"], "at_least": 0.9},
        "p99 of refusals at 2x, ms": {"is": twice["refused_ms"]["p99"], "at_most": 50.0},
        "accepted and late at 2x": {"is": twice["completed"] - twice["on_time"], "at_most": 0},
        "neither answered nor OVERLOADED, at 2x and 10x": {"is": unexplained, "at_most": 0},
        "peak memory at 10x, MiB": {"is": report["peak_mib"], "at_most": report["limit_mib"]},
        "p90 2 s after, ms": {"is": after["latency_ms"]["p90"], "at_most": 1.25 * normal["latency_ms"]["p90"] + 5.0},
        "refused 2 s after": {"is": after["offered"] - after["completed"], "at_most": 0},
    }  # fmt: skip
    report["figures"] = figures
    report["holds"] = all(f["is"] <= f.get("at_most", f["is"]) and f["is"] >= f.get("at_least", f["is"]) for f in figures.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--volvox", default=str(ROOT / "build/release/volvox"), help="the executable to measure")
    parser.add_argument("--seconds", type=float, default=10, help="of each overload")
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = Server(arguments.volvox, folder, (("check", "check"),), CONFIG)
        try:
            report = measure(arguments.volvox, server, arguments.seconds)
        finally:
            server.stop()
    judge(report)
    for name, figure in report["figures"].items():
        bound = "at most" if "at_most" in figure else "at least"
        print(f"{name:50} {figure['is']:9.2f}   {bound} {figure.get('at_most', figure.get('at_least')):.2f}")
    for name in ("twice", "tenfold"):
        load = report[name]
        print(f"{name}: {load['offered']} offered, {load['completed']} completed, {load['errors']}, refused in {load['refused_ms']} ms")
    print("holds" if report["holds"] else "DOES NOT HOLD")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0 if report["holds"] else 1


if __name__ == "__main__":
    sys.exit(main())
