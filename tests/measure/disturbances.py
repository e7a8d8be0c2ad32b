"""What must not hurt a server that serves: each kind of disturbance on a thread of its own."""

import collections
import http.client
import pathlib
import random
import shutil
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "protocol" / "python"), str(ROOT / "tests")]

import zmq  # noqa: E402

import volvox_wire as wire  # noqa: E402
from check_model import check_hash  # noqa: E402
from volvox_client import Client, Code, VolvoxError  # noqa: E402

CLI_S = 60  # that a command may take
PARDONED = (Code.OVERLOADED, Code.CANCELLED)  # what a client that asks for nothing wrong may be told beside all this
MOST_FAILED = 0.1  # of the times that a disturbance is tried
KINDS = ("nonsense", "http_nonsense", "vanish", "never_read", "cancel", "stream", "reload", "killed")


class Disturbances:
    """Runs until stop(). `did` counts by kind, and as "kind: error" those that something kept from being done: a full socket,
    a connection that was cut. `wrong` is what must stay empty; judge() adds the kinds that hardly ever were done.

    The server's models: `lstm`, `check`, `every` (a check model that answers every step), and `changing`, which is replaced
    all the time.
    """

    def __init__(self, volvox, server, admin, seed):
        self.volvox, self.server, self.admin, self.did, self.wrong = volvox, server, admin, collections.Counter(), []
        self.random, self.stopping = random.Random(seed), threading.Event()
        self.context = zmq.Context()
        self.version = 1
        self.threads = [threading.Thread(target=self.repeat, args=(getattr(self, kind),), daemon=True) for kind in KINDS]
        for thread in self.threads:
            thread.start()

    def repeat(self, kind):
        while not self.stopping.wait(0.05 + 0.1 * self.random.random()):
            self.once(kind)

    def once(self, kind):
        try:
            kind()
            self.did[kind.__name__] += 1
        except (VolvoxError, OSError, http.client.HTTPException, zmq.ZMQError) as problem:
            self.did[f"{kind.__name__}: {type(problem).__name__}"] += 1
            if isinstance(problem, VolvoxError) and problem.code not in PARDONED:
                self.wrong.append(f"{kind.__name__}: {problem}")

    def judge(self):
        """After stop(): a disturbance that failed nearly always has disturbed nobody."""
        for kind in KINDS:
            failed = sum(count for name, count in self.did.items() if name.startswith(f"{kind}: "))
            if self.did[kind] == 0 or failed > MOST_FAILED * (failed + self.did[kind]) + 1:
                self.wrong.append(f"{kind}: done {self.did[kind]} times, failed {failed} times")

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
            self.wrong.append(f"nonsense over HTTP was answered {status}")

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
        if rows != [check_hash(tokens[: t + 1]) for t in range(len(tokens))]:
            self.wrong.append(f"rows of {tokens}: {rows}")

    def command(self, *arguments):
        return subprocess.run([self.volvox, *arguments], capture_output=True, text=True, timeout=CLI_S, check=False)

    def reload(self):
        """`changing` is replaced by a copy of itself under requests, and a broken version of it is refused."""
        folder = self.server.folder / "models" / "changing"
        old, self.version = self.version, self.version + 1
        shutil.copytree(folder / str(old), folder / str(self.version))
        broken = folder / str(self.version + 1)
        shutil.copytree(folder / str(old), broken)
        self.spoil(self.random.choice([path for path in broken.iterdir() if path.is_file()]))
        tokens = [self.random.randrange(100) for _ in range(20)]
        with Client(self.server.endpoint) as client:
            before = client.infer("changing", {"tokens": tokens})["h"]
            asked = [client.submit("changing", {"tokens": tokens}) for _ in range(20)]
            done = self.command("models", "reload", "changing", "--version", str(self.version), "--admin", self.admin)
            answers = [pending.result()["h"] for pending in asked] + [client.infer("changing", {"tokens": tokens})["h"]]
        refused = self.command("models", "load", "changing", "--version", broken.name, "--admin", self.admin)
        shutil.rmtree(folder / str(old))
        shutil.rmtree(broken)
        if done.returncode != 0 or refused.returncode == 0:
            self.wrong.append(f"reload: {done.stderr} {refused.stdout}")
        if any(list(answer) != list(before) for answer in answers):
            self.wrong.append(f"changing, {tokens}: another answer after a reload")

    def spoil(self, file):
        content = file.read_bytes()
        cut = self.random.randrange(len(content))
        file.write_bytes(content[:cut] if self.random.random() < 0.5 else self.random.randbytes(len(content)))

    def killed(self):
        """A load generator that is killed with everything in flight."""
        command = [self.volvox, "load", "--connect", self.server.endpoint, "--model", "check", "--concurrency", "64", "--seconds", "30"]
        load = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.stopping.wait(0.5 + self.random.random())
        load.kill()
        load.wait()
        self.stopping.wait(3)
