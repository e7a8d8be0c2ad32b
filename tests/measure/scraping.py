#!/usr/bin/env python3
"""Measures what it costs to look at a server of many models: how large its page of metrics is, how long it takes to get it from an
idle server and from a saturated one, and what requests notice of being looked at each second.

Usage: scraping.py [--volvox PATH] [--models COUNT] [--pairs K] [--seconds S] [--json FILE]

Serves `seq2seq` models, which have two cell types, and keeps one of them saturated in a closed loop, turn by turn with and without
somebody who asks. Prints medians with the extremes. Keys: `page_bytes`, `idle_ms`, `saturated_ms` (each `p50`, `max`), `p99_ms`
(`apart`, `watched`: of each run), `ratio_p99` (of each pair: watched / apart).
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from served import PATIENCE, Server  # noqa: E402

IN_FLIGHT = 256
ASKED_IDLE = 20  # times


class Scraper(threading.Thread):
    """Asks each second until it is told to stop; `took`: seconds of each answer."""

    def __init__(self, server):
        super().__init__()
        self.server, self.took, self._over = server, [], threading.Event()
        self.start()

    def run(self):
        while not self._over.wait(1):
            self.took.append(seconds_of(self.server.page))

    def stop(self):
        self._over.set()
        self.join()


def seconds_of(call):
    begin = time.monotonic()
    call()
    return time.monotonic() - begin


def loaded_p99(volvox, server, seconds):
    report = server.folder / "load.json"
    command = [volvox, "load", "--connect", server.endpoint, "--metrics", server.metrics, "--model", "model0", "--vocabulary", "50"]
    command += ["--concurrency", str(IN_FLIGHT), "--seconds", str(seconds), "--json", str(report)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=seconds + PATIENCE)
    return json.loads(report.read_text(encoding="utf-8"))["latency_ms"]["p99"]


def spread(values):
    return {"p50": round(statistics.median(values), 2), "max": round(max(values), 2)}


def measure(options, folder):
    models = [("seq2seq", f"model{i}", "--hidden", "64", "--vocabulary", "50") for i in range(options.models)]
    server = Server(options.volvox, folder, models, f"[limits]\nmax_models = {options.models}\n", http="127.0.0.1:0")
    try:
        idle = []
        for _ in range(ASKED_IDLE):
            idle.append(1e3 * seconds_of(server.page))
            time.sleep(0.2)
        apart, watched, saturated = [], [], []
        loaded_p99(options.volvox, server, 2)
        for _ in range(options.pairs):
            apart.append(loaded_p99(options.volvox, server, options.seconds))
            scraper = Scraper(server)
            watched.append(loaded_p99(options.volvox, server, options.seconds))
            scraper.stop()
            saturated += [1e3 * took for took in scraper.took]
        ratios = [round(with_it / without, 3) for with_it, without in zip(watched, apart)]
        return {"page_bytes": len(server.page()), "idle_ms": spread(idle), "saturated_ms": spread(saturated),
                "p99_ms": {"apart": apart, "watched": watched}, "ratio_p99": ratios}  # fmt: skip
    finally:
        server.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--volvox", default=str(ROOT / "build/release/volvox"))
    parser.add_argument("--models", type=int, default=64)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(options, folder)
    for name in ("page_bytes", "idle_ms", "saturated_ms", "p99_ms", "ratio_p99"):
        print(f"{name}: {json.dumps(figures[name])}")
    print(f"ratio_p99, median: {statistics.median(figures['ratio_p99'])}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
