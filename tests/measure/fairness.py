#!/usr/bin/env python3
"""Measures what a busy model costs its neighbours: a light model alone, the same beside an overloaded one, and urgent
requests to the overloaded one.

Usage: fairness.py [--volvox PATH] [--seconds S] [--repeat K] [--json FILE]

Serves two `check` models on the `timed` device (a task takes 1 ms and 20 us a row, 32 rows at most) and drives them with
`volvox load`. Every answer's state is computed, so that the server does its whole work but for the arithmetic. Prints medians,
and the spread over the repetitions; --json also writes them. Keys: `light_alone_ms`, `light_beside_ms`, `urgent_queue_ms` (each
`p50`, `p90`, `p99`), `heavy_rps`, `task_ms`, `ratio_p99` (light beside / alone), `holds` (light beside <= 2 x alone + a task).
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from served import Server  # noqa: E402

TASK_US, ROW_US, ROWS, LENGTH = 1000.0, 20.0, 32, 24
CONFIG = f"""
[device]
kind = "timed"
timed_task_us = {TASK_US}
timed_row_us = {ROW_US}
[batching]
max_batch = {ROWS}
"""


def start_load(volvox, server, name, model, *options):
    """Starts a load; result() waits for its report."""
    report = server.folder / f"{name}.json"
    command = [volvox, "load", "--connect", server.endpoint, "--metrics", server.metrics, "--model", model]
    command += ["--length", str(LENGTH), "--json", str(report), *map(str, options)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL), report


def result(started):
    process, report = started
    if process.wait() != 0:
        sys.exit("fairness.py: a load failed")
    return json.loads(report.read_text(encoding="utf-8"))


def measure(volvox, seconds):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(volvox, folder, (("check", "light"), ("check", "heavy")), CONFIG)
        try:
            light = ("--rate", 10, "--seconds", seconds)
            alone = result(start_load(volvox, server, "alone", "light", *light))
            heavy = start_load(volvox, server, "heavy", "heavy", "--concurrency", 400, "--seconds", 2 * seconds + 6)
            time.sleep(2)
            beside = result(start_load(volvox, server, "beside", "light", *light))
            urgent = result(start_load(volvox, server, "urgent", "heavy", "--priority", "high", *light))
            return alone, beside, urgent, result(heavy)
        finally:
            server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--volvox", default=str(ROOT / "build/release/volvox"), help="the executable to measure")
    parser.add_argument("--seconds", type=int, default=20, help="of each measurement")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    runs = [measure(arguments.volvox, arguments.seconds) for _ in range(arguments.repeat)]

    def middle(which, key):
        values = {q: [run[which][key][q] for run in runs] for q in ("p50", "p90", "p99")}
        return {q: {"median": statistics.median(v), "spread": [min(v), max(v)]} for q, v in values.items()}

    task_ms = (TASK_US + ROW_US * ROWS) / 1000
    alone, beside = middle(0, "latency_ms"), middle(1, "latency_ms")
    report = {"light_alone_ms": alone, "light_beside_ms": beside, "urgent_queue_ms": middle(2, "queue_ms"), "task_ms": task_ms,
              "heavy_rps": statistics.median(run[3]["throughput_rps"] for run in runs),
              "ratio_p99": beside["p99"]["median"] / alone["p99"]["median"],
              "holds": beside["p99"]["median"] <= 2 * alone["p99"]["median"] + task_ms}  # fmt: skip
    for name in ("light_alone_ms", "light_beside_ms", "urgent_queue_ms"):
        print(name, "  ".join(f"{q} {v['median']:.2f} ({v['spread'][0]:.2f} to {v['spread'][1]:.2f})" for q, v in report[name].items()))
    print(f"a full task takes {task_ms:.2f} ms; the busy model does {report['heavy_rps']:.0f} requests a second")
    print(f"p99 beside / alone {report['ratio_p99']:.2f}: {'holds' if report['holds'] else 'DOES NOT HOLD'} (2 x alone + a task)")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0 if report["holds"] else 1


if __name__ == "__main__":
    sys.exit(main())
