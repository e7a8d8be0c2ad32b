#!/usr/bin/env python3
"""Measures what a model whose state memory is full costs a light one beside it, and its own urgent requests.

Usage: full_model.py [--volvox PATH] [--seconds S] [--where process|cluster|both] [--json FILE]

Serves an LSTM that keeps its state memory for eight requests (its eager part runs far ahead, so each needs a MiB) and a light
`check`, on the `timed` device (a task takes 50 us and 1 us a row, 8 rows at most): in one process, and behind a router. The
full model has 500 requests of 200 steps in flight all the time; the light one gets 100 a second, at least 1,000. It holds when the
light one's p99 is at most 2 x alone + one task of the other + 4 ms, and the full model's urgent requests begin before its normal
ones that wait: within the time that one that runs takes to the end. --json also writes the figures; the exit status says whether
all holds.
"""

import argparse
import json
import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from cluster_processes import Cluster, Load, Loopback  # noqa: E402
from served import Server  # noqa: E402

TASK_US, ROW_US, ROWS, PLACES = 50.0, 1.0, 8, 8
IN_FLIGHT, STEPS, LIGHT_STEPS, LIGHT_RATE, URGENT_RATE, SLACK_MS = 500, 200, 4, 100, 5, 4.0
HIDDEN, WINDOW = 64, 1024  # the eager part's rows of four gates: 1 MiB of state a request
# Requests do not grow older here than they stay: an urgent one is to pass those that are normal.
CONFIG = f"""
[admin]
socket = ""
[device]
kind = "timed"
timed_task_us = {TASK_US}
timed_row_us = {ROW_US}
[batching]
max_batch = {ROWS}
eager = "on"
eager_window = {WINDOW}
age_ms = 600000
[[model]]
name = "full"
state_mib = {PLACES + 1}
"""
MODELS = (("lstm", "full", "--hidden", str(HIDDEN)), ("check", "light"))


class OneProcess:
    """A server that looks like a cluster to a load."""

    def __init__(self, volvox, folder):
        self.volvox, self.folder = str(volvox), pathlib.Path(folder)
        self.server = Server(volvox, folder, MODELS, CONFIG)
        self.endpoint = self.server.endpoint

    def log(self, name):
        return self.folder / f"{name}.log"

    def places(self):
        return places(self.server.values())

    def end(self):
        self.server.stop()


class RouterAndNode(Cluster):
    def __init__(self, volvox, folder):
        super().__init__(volvox, folder, Loopback(), CONFIG, routers=1, nodes=1)
        for kind, name, *options in MODELS:
            self.new_model(kind, name, *options)
        self.start()
        self.endpoint = self.routers[0].endpoint

    def places(self):
        return places(self.nodes[0].page())


def places(metrics):
    """Requests of the full model that run, as the scheduler counts them."""
    live = sum(value for name, value in metrics.items() if name.startswith("volvox_model_live_requests") and 'model="full' in name)
    waiting = sum(value for name, value in metrics.items() if name.startswith("volvox_model_waiting_requests") and 'model="full' in name)
    return live, waiting


def measure(house, seconds):
    light = ("--model", "light", "--length", LIGHT_STEPS, "--rate", LIGHT_RATE, "--seconds", max(seconds, 1050 / LIGHT_RATE))
    full = ("--model", "full", "--length", STEPS)
    loads = []

    def load(name, *options):
        loads.append(Load(house, name, house.endpoint, *options))
        return loads[-1]

    try:
        alone = load("alone", *light, "--warmup", 1).result(600)
        crowd = load("crowd", *full, "--concurrency", IN_FLIGHT, "--seconds", 2 * light[-1] + 12)
        time.sleep(3)
        running = house.places()
        beside = load("beside", *light).result(600)
        urgent = load("urgent", *full, "--rate", URGENT_RATE, "--priority", "high", "--seconds", light[-1]).result(600)
        return alone, beside, urgent, crowd.result(600), running
    finally:
        for one in loads:
            one.end()


def judge(runs):
    alone, beside, urgent, crowd, (live, waiting) = runs
    task_ms = (TASK_US + ROW_US * ROWS) / 1000
    bound = 2 * alone["latency_ms"]["p99"] + task_ms + SLACK_MS
    checks = {
        "light p99 beside, ms": {"is": beside["latency_ms"]["p99"], "at_most": bound},
        "light samples": {"is": min(alone["completed"], beside["completed"]), "at_least": 1000},
        "urgent p99 until it begins, ms": {"is": urgent["queue_ms"]["p99"], "at_most": crowd["compute_ms"]["p99"] + SLACK_MS},
        "the same / a normal one's p50": {"is": urgent["queue_ms"]["p99"] / max(1e-3, crowd["queue_ms"]["p50"]), "at_most": 0.5},
        "requests of the full model that run": {"is": live - waiting, "at_most": 2 * PLACES},
        "requests that did not complete": {"is": sum(run["offered"] - run["completed"] for run in (alone, beside, urgent)), "at_most": 0},
    }  # fmt: skip
    for figure in checks.values():
        figure["holds"] = figure["is"] <= figure["at_most"] if "at_most" in figure else figure["is"] >= figure["at_least"]
    seen = {
        "light alone, ms": alone["latency_ms"],
        "light beside, ms": beside["latency_ms"],
        "normal of the full model: until it begins, ms": crowd["queue_ms"],
        "normal of the full model: runs, ms": crowd["compute_ms"],
        "requests a second of the full model": crowd["throughput_rps"],
        "live and waiting of it": [live, waiting],
    }
    return {"figures": checks, "seen": seen, "holds": all(figure["holds"] for figure in checks.values())}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--volvox", default=str(ROOT / "build/release/volvox"), help="the executable to measure")
    parser.add_argument("--seconds", type=float, default=20, help="of each measurement")
    parser.add_argument("--where", choices=("process", "cluster", "both"), default="both")
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    report = {}
    for where, make in (("process", OneProcess), ("cluster", RouterAndNode)):
        if arguments.where not in (where, "both"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            house = make(arguments.volvox, folder)
            try:
                report[where] = judge(measure(house, arguments.seconds))
            finally:
                house.end()
        print(f"{where}: {'holds' if report[where]['holds'] else 'DOES NOT HOLD'}")
        for name, figure in report[where]["figures"].items():
            bound = f"at most {figure['at_most']:.2f}" if "at_most" in figure else f"at least {figure['at_least']:.2f}"
            print(f"  {name}: {figure['is']:.2f} ({bound}){'' if figure['holds'] else '  <- no'}")
        for name, value in report[where]["seen"].items():
            print(f"  {name}: {value}")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0 if all(one["holds"] for one in report.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
