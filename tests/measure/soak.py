#!/usr/bin/env python3
"""Soaks a server: a steady load at about half of what it can do, and beside it everything that must not hurt.

Usage: soak.py [--volvox PATH] [--seconds S] [--rate R] [--json FILE]

Serves an LSTM and two `new-check` models on the CPU. Beside the load, for the whole time: frames of random bytes, cut, oversized
and of too many parts; HTTP requests that make no sense; clients that vanish with requests in flight, that never read, that
cancel; answers streamed row by row. Passes when every request of the load was answered and none wrongly, every streamed row
was right, the server is ready at the end and drains, and its memory did not grow by more than 16 MiB after the first quarter.
Needs Debian's python3-zmq. Keys of the JSON: `seconds`, `load` (the report of `volvox load`), `did` (by kind of disturbance, how
often), `wrong_rows`, `rss_mib` (a list, one for every 5 s), `rss_growth_mib`, `answers` (the server's own count, by outcome), `holds`.
"""

import argparse
import collections
import http.client
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "protocol" / "python"), str(ROOT / "tests")]

import zmq  # noqa: E402

import volvox_wire as wire  # noqa: E402
from check_model import check_hash  # noqa: E402
from served import Server  # noqa: E402
from volvox_client import Client, VolvoxError  # noqa: E402

GROWTH_MIB, SAMPLE_S = 16.0, 5.0
MODELS = (("new-lstm", "lstm", "--hidden", "256"), ("new-check", "check"), ("new-check", "every", "--every-step"))
OPTIONS = ("--log-level", "error")


class Disturbances:
    """Each kind runs on a thread of its own until stop() and counts what it did."""

    def __init__(self, server, seed):
        self.server, self.did, self.wrong_rows = server, collections.Counter(), 0
        self.random, self.stopping = random.Random(seed), threading.Event()
        self.context = zmq.Context()
        kinds = (self.nonsense, self.http_nonsense, self.vanish, self.never_read, self.cancel, self.stream)
        self.threads = [threading.Thread(target=self.repeat, args=(kind,), daemon=True) for kind in kinds]
        for thread in self.threads:
            thread.start()

    def repeat(self, kind):
        while not self.stopping.wait(0.05 + 0.1 * self.random.random()):
            try:
                kind()
                self.did[kind.__name__] += 1
            except (VolvoxError, OSError, http.client.HTTPException, zmq.ZMQError) as problem:
                self.did[f"{kind.__name__}: {type(problem).__name__}"] += 1

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join()
        self.context.destroy(linger=0)

    def socket(self):
        socket = self.context.socket(zmq.DEALER)
        socket.linger = 0
        socket.connect(self.server.endpoint)
        return socket

    def request(self, number, length, model="check"):
        tokens = [self.random.randrange(1000) for _ in range(length)]
        header = wire.encode_header("infer", number, model, cells=length)
        return [bytes(header), bytes(wire.encode_body(wire.Chain(length), {"tokens": wire.tensor(tokens)}))]

    def nonsense(self):
        socket = self.socket()
        header, body = self.request(1, 20)
        for number in range(20):
            cut = self.random.randrange(len(body))
            frames = self.random.choice((
                [self.random.randbytes(self.random.randrange(200)), b""], [header, body[:cut]], [header[:cut % len(header)], body],
                [header, self.random.randbytes(len(body))], [header], [header, body, body], [b"", b""],
                [header, bytes(1 << 16)], [b"\0" * 5000, body]))  # fmt: skip
            socket.send_multipart(frames, zmq.NOBLOCK)
            if number % 4 == 0 and socket.poll(20):
                socket.recv_multipart(zmq.NOBLOCK)
        socket.close()

    def http_nonsense(self):
        connection = http.client.HTTPConnection(self.server.http.split("/")[-1], timeout=10)
        bodies = (b"{", b"[]", b'{"inputs": 3}', b"[" * 2000, self.random.randbytes(300),
                  b'{"inputs": [{"name": "tokens", "datatype": "INT32", "shape": [-1], "data": [1]}]}',
                  b'{"inputs": [{"name": "tokens", "datatype": "INT32", "shape": [9999999999], "data": [1]}]}',
                  b'{"inputs": [{"name": "tokens", "datatype": "INT32", "shape": [1], "data": ["x"]}]}')  # fmt: skip
        path = self.random.choice(("/v2/models/check/infer", "/v2/models/none/infer", "/v2/%00", "/v2/models/check/versions/x/infer"))
        connection.request("POST", path, self.random.choice(bodies), {"Content-Type": "application/json"})
        status = connection.getresponse().status
        connection.close()
        if not 400 <= status < 500:
            raise OSError(f"nonsense was answered {status}")

    def vanish(self):
        socket = self.socket()
        for number in range(1, 20):
            socket.send_multipart(self.request(number, 200), zmq.NOBLOCK)
        time.sleep(0.02 * self.random.random())
        socket.close()

    def never_read(self):
        socket = self.context.socket(zmq.DEALER)
        socket.linger, socket.rcvhwm, socket.rcvbuf = 0, 1, 4096
        socket.connect(self.server.endpoint)
        for number in range(1, 200):
            socket.send_multipart(self.request(number, 50, "every"), zmq.NOBLOCK)
        self.stopping.wait(1.0)
        socket.close()

    def cancel(self):
        with Client(self.server.endpoint) as client:
            asked = [client.submit("lstm", {"tokens": [1] * 60}) for _ in range(10)]
            for pending in asked[::2]:
                pending.cancel()
            for pending in asked[1::2]:
                pending.result()

    def stream(self):
        tokens = [self.random.randrange(30000) for _ in range(self.random.randrange(1, 60))]
        rows = []
        with Client(self.server.endpoint) as client:
            client.infer("every", {"tokens": tokens}, on_partial=lambda part: rows.append(int(part["state"][0])))
        right = [check_hash(tokens[: t + 1]) for t in range(len(tokens))]
        self.wrong_rows += sum(a != b for a, b in zip(rows, right)) + abs(len(rows) - len(right))


def soak(arguments, folder):
    server = Server(arguments.volvox, folder, MODELS, http="127.0.0.1:0", options=OPTIONS)
    report = folder / "load.json"
    command = [arguments.volvox, "load", "--connect", server.endpoint, "--metrics", server.metrics, "--model", "lstm"]
    command += ["--rate", str(arguments.rate), "--seconds", str(arguments.seconds), "--verify", str(folder / "models/lstm")]
    load = subprocess.Popen([*command, "--json", str(report)], stdout=subprocess.DEVNULL)
    disturbances, rss = Disturbances(server, arguments.seed), []
    try:
        while load.poll() is None:
            rss.append(server.rss_mib())
            print(f"{len(rss) * SAMPLE_S:6.0f} s  {rss[-1]:7.1f} MiB  {sum(disturbances.did.values())} disturbances", flush=True)
            time.sleep(SAMPLE_S)
    finally:
        disturbances.stop()
    answers, ready = server.answers(), urllib.request.urlopen(server.metrics + "/readyz", timeout=10).status == 200
    drained = server.stop() == 0
    loaded = json.loads(report.read_text(encoding="utf-8"))
    late = rss[len(rss) // 4 :]
    growth = max(late) - late[0]
    good_load = loaded["completed"] == loaded["offered"] > 0 and loaded["wrong"] == loaded["duplicates"] == 0 and not loaded["errors"]
    holds = good_load and ready and drained and growth <= GROWTH_MIB and disturbances.wrong_rows == 0
    return {"seconds": arguments.seconds, "load": loaded, "did": disturbances.did, "wrong_rows": disturbances.wrong_rows,
            "rss_mib": rss, "rss_growth_mib": growth, "answers": answers, "holds": holds}  # fmt: skip


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
    load = report["load"]
    print(f"load: {load['completed']} of {load['offered']} answered, {load['wrong']} wrong, {load['verified']} verified")
    print("disturbances:", dict(report["did"]), "wrong rows:", report["wrong_rows"])
    print("the server's answers:", report["answers"])
    print(f"memory grew by {report['rss_growth_mib']:.1f} MiB after the first quarter: {'holds' if report['holds'] else 'DOES NOT HOLD'}")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0 if report["holds"] else 1


if __name__ == "__main__":
    sys.exit(main())
