#!/usr/bin/env python3
"""Measures a cluster of real processes while its nodes, routers and links fail, and how it scales.

Usage: cluster.py [--volvox PATH] [--seconds S] [--json FILE] SCENARIO …

Most run two routers and three nodes on the `timed` device (a `check` model, 24 cells of 2 ms, 32 rows at most: 667 requests a
second a node), offer 800 requests a second, half of them at each router, with every answer checked, and do harm every 5 s:

  kill       SIGKILL a node; it is started again 2 s later
  stop       SIGSTOP a node for 2 s
  router     SIGKILL a router; it is started again 2 s later; clients know both
  cut        a node hears nothing from the routers for 2 s, nor they from it
  cut-one    the same, for one of the routers
  cut-in     a node does not hear the routers for 2 s
  cut-out    the routers do not hear a node for 2 s
  restart    SIGKILL two nodes and start them again at once, while a third router's address swallows all that is sent there

The others:

  slow-link  requests of nearly 16 MiB over a link of 100 Mbit/s, and small ones beside them
  scale      four nodes against one
  speed      a router and a node apart, a cell that computes nothing
  burst      192 answers of 200 kB at once, each second for half of the time, and small ones beside them

All but kill, stop, router, scale, speed and burst need root: they put each process into a network namespace. `all` is every scenario,
`loopback` those that need no namespaces. Exits with 1 when a limit does not hold, or when the run says nothing and is called void:
the load itself was late by more than 5 ms (p99), or, for `speed`, others used more than a fifth of the machine.

The JSON has for each scenario `what`, `figures` (each with `is`, and `at_most` or `at_least`), `seen`, `late_ms`, `verdict`; for
those that do harm `events`, each with its `victims`, the least that was `in_flight` on one, and `recovered_s`; for `speed`
`others_share`.
"""

import argparse
import json
import pathlib
import signal
import sys
import tempfile

import cluster_burst as burst
import cluster_figures as figures
import cluster_harm as harm
import cluster_speed as speed
from cluster_processes import Loopback, Namespaces, Unfit

ROOT = pathlib.Path(__file__).resolve().parents[2]
ON_LOOPBACK = {
    "kill": harm.kill, "stop": harm.stop, "router": harm.router, "scale": speed.scale, "speed": speed.speed,
    "burst": burst.burst,
}  # fmt: skip
IN_NAMESPACES = {
    "cut": harm.cut, "cut-one": harm.cut_one, "cut-in": harm.cut_in, "cut-out": harm.cut_out, "restart": harm.restart,
    "slow-link": speed.slow_link,
}  # fmt: skip
SCENARIOS = ON_LOOPBACK | IN_NAMESPACES


def run(name, volvox, seconds):
    with tempfile.TemporaryDirectory() as folder:
        network = Loopback() if name in ON_LOOPBACK else Namespaces()
        try:
            report = SCENARIOS[name](volvox, pathlib.Path(folder), network, seconds)
        finally:
            network.close()
    report["verdict"] = figures.judge(report)
    figures.show(name, report)
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--volvox", default=str(ROOT / "build/release/volvox"), help="the executable to measure")
    parser.add_argument("--seconds", type=float, default=60, help="of each load (default 60)")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("scenarios", nargs="+", choices=[*SCENARIOS, "all", "loopback"], metavar="SCENARIO")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    groups = {"all": SCENARIOS, "loopback": ON_LOOPBACK}
    names = [name for chosen in arguments.scenarios for name in groups.get(chosen, [chosen])]
    reports = {}
    for name in dict.fromkeys(names):
        try:
            reports[name] = run(name, arguments.volvox, arguments.seconds)
        except Unfit as why:
            sys.exit(f"cluster.py: {name}: {why}")
        if arguments.json:
            pathlib.Path(arguments.json).write_text(json.dumps(reports, indent=2) + "\n", encoding="utf-8")
    return 0 if all(report["verdict"] == "holds" for report in reports.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
