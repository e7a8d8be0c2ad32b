#!/usr/bin/env python3
"""Measures what the load generator can offer on a machine: requests to a server that answers each at once, with nothing.

Usage: offering.py [--volvox PATH] [--null PATH] [--pace PATH] [--rate R] [--connections N] [--seconds S] [--rounds N] [--json FILE]

Both share the machine. It holds if, by the medians of the rounds, what is offered is within 1 % of the rate, 99 % of the requests
leave within 1 ms of their instant, and the gaps between sends vary within 10 % of the plan's: nobody catches up in bursts. The exit
status is 1 if it does not. After each round a thread that sends nothing keeps the same schedule: `machine` says how punctual anything
can be here.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def offer(options, endpoint, folder):
    """One load's report."""
    path = pathlib.Path(folder) / "load.json"
    subprocess.run([options.volvox, "load", "--connect", endpoint, "--metrics", "", "--model", "null", "--length", "1", "--rate",
                    str(options.rate), "--connections", str(options.connections), "--seconds", str(options.seconds), "--json",
                    str(path)], check=True, stdout=subprocess.DEVNULL)
    return json.loads(path.read_text(encoding="utf-8"))


def machine(options):
    """What a thread that sends nothing makes of the schedule."""
    command = [options.pace, str(options.rate / options.connections), str(options.seconds)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    build = ROOT / "build" / "release"
    parser.add_argument("--volvox", default=build / "volvox", type=pathlib.Path)
    parser.add_argument("--null", default=build / "tests" / "measure" / "volvox_null", type=pathlib.Path)
    parser.add_argument("--pace", default=build / "tests" / "measure" / "volvox_pace", type=pathlib.Path)
    parser.add_argument("--rate", type=float, default=50000)
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    rounds = []
    with tempfile.TemporaryDirectory() as folder, subprocess.Popen([options.null], stdout=subprocess.PIPE, text=True) as server:
        try:
            endpoint = server.stdout.readline().strip()
            for number in range(options.rounds):
                report = offer(options, endpoint, folder)
                rounds.append({"offered_ratio": report["offered"] / report["seconds"] / options.rate,
                               "late_p99_ms": report["late_ms"]["p99"], "gap_variance_ratio": report["gap_variance_ratio"],
                               "failed": sum(report["errors"].values()), "latency_ms": report["latency_ms"], "machine": machine(options)})
                print(f"round {number + 1}: {json.dumps(rounds[-1])}", flush=True)
        finally:
            server.terminate()
    middle = {key: statistics.median(one[key] for one in rounds) for key in ("offered_ratio", "late_p99_ms", "gap_variance_ratio", "failed")}
    alone = {key: statistics.median(one["machine"][key] for one in rounds) for key in ("late_p99_ms", "gap_variance_ratio")}
    holds = (abs(middle["offered_ratio"] - 1) <= 0.01 and middle["late_p99_ms"] <= 1 and abs(middle["gap_variance_ratio"] - 1) <= 0.1
             and middle["failed"] == 0)
    print(f"{'holds' if holds else 'DOES NOT HOLD'}: {json.dumps(middle)}; the machine alone: {json.dumps(alone)}")
    if options.json:
        options.json.write_text(json.dumps({"holds": holds, "medians": middle, "machine": alone, "rounds": rounds}, indent=1) + "\n", encoding="utf-8")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
