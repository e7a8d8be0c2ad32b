#!/usr/bin/env python3
"""Live calls through Silero VAD: how late their frames are answered, and what a call takes of the server's memory and processors.

Usage: live_calls.py BUILD SILERO.onnx AUDIO [NAME…] [--seconds 60] [--repeat 1] [--calls N] [--json FILE]

BUILD is a build folder, AUDIO a folder of waves of 16,000 samples a second; the graph is v5's or v6's. NAME, some of
  bundles       2,500 calls, those due within 5 ms in one message, from `volvox load` to `volvox serve`, with 1 % of the calls
                leaving and others joining each second, and eight of them compared bit for bit
  messages      1,000 calls, a message a frame, in the same way
  process       4,000 calls in process, `volvox-bench engine`
  onnx_runtime  100, 200 and 300 calls, frame by frame, in ONNX Runtime with one session for each of two threads, and with one for each
                call (NODE_PATH says where npm's onnxruntime-node is)
All of them without a NAME; --calls N (of one NAME) asks for another number. Prints a line for each round: how long after a frame
was due its probability was there, how late the load itself was in sending it, what the machine's host took of the processors
meanwhile, the server's processor time a frame, and its resident memory above what it had before its first call, once a
second, the median, by the calls.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from choosing import chosen  # noqa: E402
from served import PATIENCE, Server, cpu_s_of  # noqa: E402

CALLS = {"bundles": [2500], "messages": [1000], "process": [4000], "onnx_runtime": [100, 200, 300]}
CONFIG = """
[admin]
socket = ""
[sessions]
max_sessions = 20000
max_sessions_per_client = 20000
max_resident = 6000
[device]
compute_threads = 1
queues = 2
[limits]
max_requests_in_flight = 65536
max_requests_per_client = 65536
[batching]
queued_batches = 16
"""


class MemoryWatch:
    """The server's resident memory once a second, above what it is now, until the end of the `with`; `median_bytes` then."""

    def __init__(self, server):
        self.server, self.before, self.over, self.seen = server, server.rss_mib(), threading.Event(), []

    def _watch(self):
        while not self.over.wait(1.0):
            self.seen.append(self.server.rss_mib() - self.before)

    def __enter__(self):
        self.thread = threading.Thread(target=self._watch)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        self.median_bytes = statistics.median(self.seen) * 2**20


def stolen_seconds():
    """Processor time that the machine's host has taken for others."""
    return int(pathlib.Path("/proc/stat").read_text().split()[8]) / os.sysconf("SC_CLK_TCK")


class Calls:
    """What each NAME measures; a round's figures as a dict."""

    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.volvox, self.bench = args.build / "volvox", args.build / "simulation" / "bench" / "volvox-bench"
        command = [self.volvox, "import", args.onnx, "--as", "vad", "--into", folder / "models", "--set", "sr=16000"]
        subprocess.run([*command, "--shape", "input=1,576", "--window", "input=576/512"], check=True, stdout=subprocess.DEVNULL)

    def bundles(self, calls):
        return self._served(calls, ["--bundle"])

    def messages(self, calls):
        return self._served(calls, [])

    def _served(self, calls, options):
        server = Server(self.volvox, self.folder, [], CONFIG)
        try:
            report = self.folder / "report.json"
            command = [self.volvox, "load", "--server", server.endpoint, "--model", "vad", "--verify", self.folder / "models" / "vad"]
            command += ["--calls", calls, "--audio", self.args.audio, "--seconds", self.args.seconds, "--json", report, *options]
            busy, stolen = cpu_s_of(server.process.pid), stolen_seconds()
            with MemoryWatch(server) as memory:
                done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=PATIENCE + 4 * self.args.seconds)
            busy, stolen = cpu_s_of(server.process.pid) - busy, stolen_seconds() - stolen
            if not report.exists():
                raise SystemExit(done.stderr)
            found = json.loads(report.read_text())
            frames = sum(count for name, count in server.values().items() if name.startswith("volvox_cells_total{"))
        finally:
            server.kill()
        latency = found["latency_ms"]
        return {
            "calls": calls,
            **{key: found[key] for key in ("late_fraction", "lost", "wrong", "verified")},
            **{f"{name}_ms": latency[name] for name in ("p50", "p99")},
            "sent_late_p99_ms": found["behind_ms"]["p99"],
            "stolen_seconds": stolen,
            "us_per_frame": 1e6 * busy / frames,
            "memory_bytes_per_call": memory.median_bytes / calls,
        }

    def process(self, calls):
        report = self.folder / "report.json"
        command = [self.bench, "engine", "--model", self.folder / "models" / "vad", "--calls", calls, "--threads", 1, "--workers", 2]
        command += ["--max-batch", 64, "--policy", "cellular", "--seconds", self.args.seconds, "--json", report]
        subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
        run = json.loads(report.read_text())["runs"][0]
        return {
            "calls": calls,
            **{key: run[key]["median"] for key in ("late_fraction", "throughput_rps")},
            **{f"{name}_ms": run["latency_ms"][name]["median"] for name in ("p50", "p99")},
            "lost": run["failed"] + run["refused"] + run["unfinished"],
            "wrong": run["mismatched"],
        }

    def onnx_runtime(self, calls):
        """Both ways; a runtime that falls behind is given up after three times the time."""
        script = pathlib.Path(__file__).with_name("onnx_runtime_calls.mjs")
        wav = sorted(self.args.audio.glob("*.wav"))[0]
        found = {}
        for name, options in (("shared", []), ("own", ["--own"])):
            command = ["node", script, self.args.onnx, wav, calls, min(self.args.seconds, 15), *options]
            done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
            found[name] = json.loads(done.stdout)
        return found


def text(name, found):
    """A round's line."""
    if name == "onnx_runtime":
        return "; ".join(f"{way}: {text('runtime', one)}, {one['rss_mib']} MiB" for way, one in found.items())
    words = [f"{found['calls']} calls: p50 {found['p50_ms']:.2f} ms, p99 {found['p99_ms']:.2f}, late {100 * found['late_fraction']:.3f} %"]
    if "wrong" in found:
        words.append(f"lost {found['lost']}, wrong {found['wrong']}")
    if "us_per_frame" in found:
        words.append(f"sent late p99 {found['sent_late_p99_ms']:.1f} ms, stolen {found['stolen_seconds']:.1f} s")
        words.append(f"{found['us_per_frame']:.1f} us a frame, {found['memory_bytes_per_call'] / 1000:.2f} kB a call")
    return ", ".join(words)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("build", "onnx", "audio"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--seconds", type=int, default=60, help="of each round")
    parser.add_argument("--repeat", type=int, default=1, help="rounds of each, in turn")
    parser.add_argument("--calls", type=int, help="how many")
    parser.add_argument("--json", type=pathlib.Path, help="a file for all figures")
    args = parser.parse_args()
    names = chosen(parser, args.names, CALLS)
    if args.calls and len(args.names) != 1:
        parser.error("--calls needs one NAME")
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        measured = Calls(args, pathlib.Path(folder))
        for _ in range(args.repeat):
            for name in names:
                for calls in [args.calls] if args.calls else CALLS[name]:
                    found = getattr(measured, name)(calls)
                    print(f"{name}: {text(name, found)}", flush=True)
                    rounds.append({"name": name, **found})
    if args.json:
        args.json.write_text(json.dumps(rounds, indent=1) + "\n")


if __name__ == "__main__":
    main()
