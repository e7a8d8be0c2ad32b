#!/usr/bin/env python3
"""Soaks a server: a steady load at about half of what it can do, and beside it everything that must not hurt.

Usage: soak.py [--volvox PATH] [--seconds S] [--rate R] [--json FILE]

Serves LSTMs and `check` models on the CPU. Beside the load, for the whole time: requests to a small model of every kind; sessions, more than have a place on the
device, with repeated, cancelled and abandoned parts; frames of random bytes, cut, oversized and of too many parts; HTTP requests
that make no sense; clients that are killed or vanish with requests in flight, that never read, that cancel; answers streamed row
by row; a model that is replaced under requests, and broken versions of it. Passes when every request of both loads was answered and
none wrongly, no session was wrong or lost, no disturbance saw what it should not, the server is ready at the end and drains, and
its memory did not grow by more than 16 MiB after the first quarter. Needs Debian's python3-zmq. Keys of the JSON: `seconds`,
`load`, `kinds`, `sessions` (the reports of `volvox load`), `did` (by kind of disturbance, how often), `wrong` (what should not have been
seen), `rss_mib` (a list, one for every 5 s), `rss_growth_mib`, `answers` (the server's own count, by outcome), `spills`, `holds`.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "measure")]

from disturbances import Disturbances  # noqa: E402
from kinds import all_kinds, write_kind  # noqa: E402
from served import Server  # noqa: E402

GROWTH_MIB, SAMPLE_S = 16.0, 5.0
MODELS = (("lstm", "lstm", "--hidden", "256"), ("check", "check"), ("check", "every", "--every-step"),
          ("lstm", "changing", "--hidden", "16", "--vocabulary", "100"))  # fmt: skip
KINDS_RATE = 40  # requests a second, over all of them
CONFIG = "[sessions]\nmax_resident = 60\nidle_expiry_ms = 4000\n"


def write_kinds(volvox, folder):
    """A small model of every kind, and the workload that asks all of them."""
    kinds = all_kinds(volvox)
    for kind in kinds:
        write_kind(volvox, kind, folder / "models" / f"small_{kind}")
    requests = "".join(f'[[request]]\nmodel = "small_{kind}"\nlength = 9\n' for kind in kinds)
    (folder / "kinds.toml").write_text(f'[arrivals]\nkind = "poisson"\nrate = {KINDS_RATE}\n{requests}', encoding="utf-8")


class Loads:
    """The steady load, one to every kind of model, and sessions beside them; all check what they get."""

    def __init__(self, volvox, server, seconds, rate):
        self.files = {name: server.folder / f"{name}.json" for name in ("load", "kinds", "sessions")}
        models = str(server.folder / "models")
        common = [volvox, "load", "--connect", server.endpoint, "--seconds", str(seconds), "--json"]
        kinds = {
            "load": ["--metrics", server.metrics, "--model", "lstm", "--rate", str(rate), "--models", models],
            "kinds": ["--workload", str(server.folder / "kinds.toml"), "--models", models, "--verify-count", "2000"],
            "sessions": ["--model", "check", "--sessions", "120", "--parts", "20", "--pause-ms", "500", "--length", "10",
                         "--repeat-parts", "0.05", "--cancel-parts", "0.05", "--abandon-after", "0.02"],
        }  # fmt: skip
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.running = [subprocess.Popen([*common, str(self.files[name]), *options], **quiet) for name, options in kinds.items()]

    def go_on(self):
        return any(load.poll() is None for load in self.running)

    def reports(self):
        return [json.loads(file.read_text(encoding="utf-8")) for file in self.files.values()]


def all_right(loads, sessions):
    answered = all(load["completed"] == load["offered"] > 0 and not load["errors"] for load in loads)
    reports = [*loads, sessions]
    right = all(report["wrong"] == report["duplicates"] == 0 and report["verified"] > 0 for report in reports)
    return answered and right and sessions["lost"] == 0


def watch(loads, server, disturbances):
    rss = []
    while loads.go_on():
        rss.append(server.rss_mib())
        print(f"{len(rss) * SAMPLE_S:6.0f} s  {rss[-1]:7.1f} MiB  {sum(disturbances.did.values())} disturbances", flush=True)
        time.sleep(SAMPLE_S)
    return rss


def is_ready(server):
    try:
        return urllib.request.urlopen(server.metrics + "/readyz", timeout=10).status == 200
    except urllib.error.HTTPError:  # which says why not
        return False


def soak(arguments, folder):
    admin = str(folder / "admin")
    options = ("--log-level", "error", "--admin", admin)
    write_kinds(arguments.volvox, folder)
    server = Server(arguments.volvox, folder, MODELS, config=CONFIG, http="127.0.0.1:0", options=options)
    loads = Loads(arguments.volvox, server, arguments.seconds, arguments.rate)
    disturbances = Disturbances(arguments.volvox, server, admin, arguments.seed)
    try:
        rss = watch(loads, server, disturbances)
    finally:
        disturbances.stop()
        disturbances.judge()
    answers, ready = server.answers(), is_ready(server)
    spills = server.values()["volvox_session_spills_total"]
    drained = server.stop() == 0
    load, kinds, sessions = loads.reports()
    late = rss[len(rss) // 4 :]
    growth = max(late) - late[0]
    holds = all_right([load, kinds], sessions) and ready and drained and growth <= GROWTH_MIB and not disturbances.wrong
    return {"seconds": arguments.seconds, "load": load, "kinds": kinds, "sessions": sessions, "did": disturbances.did, "wrong": disturbances.wrong,
            "rss_mib": rss, "rss_growth_mib": growth, "answers": answers, "spills": spills, "holds": holds}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--volvox", default=str(ROOT / "build/release/volvox"), help="the executable to soak")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--rate", type=float, default=400, help="requests a second of the steady load")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = soak(arguments, pathlib.Path(folder))
    sessions = report["sessions"]
    for name in ("load", "kinds"):
        one = report[name]
        print(f"{name}: {one['completed']} of {one['offered']} answered, {one['wrong']} wrong, {one['verified']} verified")
    print(f"sessions: {sessions['answered']} answers, {sessions['wrong']} wrong, {sessions['lost']} lost, {sessions['verified']} "
          f"verified, {report['spills']:.0f} spills; errors {sessions['errors']}")  # fmt: skip
    print("disturbances:", dict(report["did"]), "wrong:", report["wrong"][:5])
    print("the server's answers:", report["answers"])
    print(f"memory grew by {report['rss_growth_mib']:.1f} MiB after the first quarter: {'holds' if report['holds'] else 'DOES NOT HOLD'}")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0 if report["holds"] else 1


if __name__ == "__main__":
    sys.exit(main())
