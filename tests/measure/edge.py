#!/usr/bin/env python3
"""Measures what strangers can do at the clients' door: whether the server lives, whom it answers, what it keeps.

Usage: edge.py [--volvox PATH] [--preload PATH] [--connections N] [--json FILE] [NAME…]

NAME: some of
  forged       60 connections from 127.0.0.2 that name themselves as ZeroMQ would name the next ones, then N (10,000) from
               127.0.0.1, each of which asks once. `--preload`: the library that makes rand() a known number
  forged_keys  the same, encrypted
  deaf         a client that asks for long answers and reads none
  deaf_small   one that pings and reads no pong
  unfinished   100 connections that send 15.9 of 16 MiB and wait
  unfinished_small  the same with 1.9 of 2 MiB, memory that an allocator keeps when it is free
  endless      100 connections whose messages have no last frame
  descriptors  a server that may open 128 files, with 140 idle connections
All of them without a NAME. Prints one line each; exit status 1 if one does not hold. Each figure is a dict with `holds`.
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import pathlib
import resource
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

import zmq
import zmq.auth

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "protocol" / "python")]

import volvox_wire as wire  # noqa: E402
from choosing import chosen  # noqa: E402
from served import PATIENCE, Server, cpu_s_of  # noqa: E402

MIB = 1 << 20
ENCRYPTED_AT_ONCE = 2500  # clients of one process
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01NULL" + bytes(48)
FIRST_FORGED = 0xEB8B4567 + 100  # what two calls of the preloaded rand() make, and some connections later
BASE = """
[admin]
socket = ""
[device]
kind = "timed"
timed_task_us = 1.0
timed_row_us = 0.0
[limits]
"""


def raise_own_limit():
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class Peer:
    """A connection that speaks ZMTP 3.1 without encryption, byte by byte."""

    def __init__(self, endpoint, source="127.0.0.1", identity=b""):
        host, port = endpoint.removeprefix("tcp://").rsplit(":", 1)
        self.socket = socket.socket()
        self.socket.settimeout(PATIENCE)
        self.socket.bind((source, 0))
        self.socket.connect((host, int(port)))
        properties = ((b"Socket-Type", b"DEALER"), (b"Identity", identity))
        ready = b"\5READY" + b"".join(bytes([len(n)]) + n + struct.pack(">I", len(v)) + v for n, v in properties)
        self.socket.sendall(GREETING + bytes([4, len(ready)]) + ready)

    def shake_hands(self):
        self._exactly(64)
        self._exactly(self._exactly(2)[1])
        return self

    def _exactly(self, size):
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise ConnectionError("closed")
            data += more
        return data

    def send(self, *frames):
        for place, frame in enumerate(frames):
            more = place + 1 < len(frames)
            head = bytes([more, len(frame)]) if len(frame) < 256 else bytes([more | 2]) + struct.pack(">Q", len(frame))
            self.socket.sendall(head + frame)

    def receive(self):
        """The first frame of the next message."""
        frames, more = [], True
        while more:
            flags, size = self._exactly(2)
            if flags & 2:
                size = struct.unpack(">Q", bytes([size]) + self._exactly(7))[0]
            frames.append(self._exactly(size))
            more = flags & 1
        return frames[0]

    def push(self, data):
        """Sends what the connection takes at once; False when it is closed."""
        try:
            self.socket.send(data, socket.MSG_DONTWAIT)
        except BlockingIOError:
            pass
        except OSError:
            return False
        return True


def ping(number):
    return wire.encode_header("ping", number)


def request(number, length):
    tokens = wire.Tensor("i32", (length,), bytes(4 * length))
    return wire.encode_header("infer", number, "check"), wire.encode_body(wire.Chain(length), {"tokens": tokens})


def answered(peers):
    """Each of them pings and hears."""
    for peer in peers:
        peer.send(ping(1), b"")
    return sum(wire.read_reply_header(peer.receive()) is not None for peer in peers)


def alive(server):
    return server.process.poll() is None and urllib.request.urlopen(server.metrics + "/healthz", timeout=PATIENCE).status == 200


class Encrypted:
    """Clients with one key, in a process of their own: each takes three descriptors, of which a process may have too few."""

    def __init__(self, endpoint, source, certificate, names):
        self.pipe, other = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=self._run, args=(other, endpoint, source, certificate, names), daemon=True)
        self.process.start()
        other.close()

    def answered(self):
        """How many of them are; once."""
        return self.pipe.recv()

    def stop(self):
        self.process.kill()
        self.process.join(PATIENCE)

    @staticmethod
    def _run(pipe, endpoint, source, certificate, names):
        context, dealers, heard = zmq.Context(), [], 0
        context.set(zmq.MAX_SOCKETS, len(names) + 100)
        for name in names:
            dealer = context.socket(zmq.DEALER)
            dealer.linger, dealer.rcvtimeo = 0, PATIENCE * 1000
            dealer.curve_serverkey, dealer.curve_publickey, dealer.curve_secretkey = certificate
            if name:
                dealer.setsockopt(zmq.ROUTING_ID, name)
            dealer.connect(endpoint.replace("tcp://", f"tcp://{source}:0;"))
            dealer.send_multipart((ping(1), b""))
            dealers.append(dealer)
            if len(dealers) % 100 == 0:
                heard += sum(len(each.recv_multipart()) == 2 for each in dealers[-100:])
        heard += sum(len(each.recv_multipart()) == 2 for each in dealers[len(dealers) // 100 * 100 :])
        pipe.send(heard)
        with contextlib.suppress(EOFError):
            pipe.recv()
        os._exit(0)


class Door:
    """Servers, one a scenario, and what strangers do to them."""

    def __init__(self, volvox, preload, connections):
        self.volvox, self.preload, self.connections = volvox, preload, connections

    @contextlib.contextmanager
    def server(self, limits="", options=(), preload=False, files=None):
        before, own = os.environ.get("LD_PRELOAD"), resource.getrlimit(resource.RLIMIT_NOFILE)
        with tempfile.TemporaryDirectory() as folder:
            try:
                if preload and self.preload:
                    os.environ["LD_PRELOAD"] = str(self.preload)
                if files:
                    resource.setrlimit(resource.RLIMIT_NOFILE, (files, own[1]))
                server = Server(self.volvox, folder, (("check", "check", "--every-step"),), BASE + limits, options=options)
            finally:
                os.environ.pop("LD_PRELOAD", None) if before is None else os.environ.update(LD_PRELOAD=before)
                if files:
                    resource.setrlimit(resource.RLIMIT_NOFILE, own)
            try:
                yield server
            finally:
                server.kill()

    def forged(self):
        with self.server(preload=True) as server:
            forged = [struct.pack(">BI", 0, (FIRST_FORGED + place) & 0xFFFFFFFF) for place in range(60)]
            held = [Peer(server.endpoint, "127.0.0.2", name).shake_hands() for name in forged]
            peers, heard = [], 0
            for start in range(0, self.connections, 200):
                new = [Peer(server.endpoint) for _ in range(min(200, self.connections - start))]
                heard += answered([peer.shake_hands() for peer in new])
                peers += new
            heard_again = answered(peers)
            lives = alive(server) and answered(held) == 60
            return {"answered": heard, "of": self.connections, "rss_mib": server.rss_mib(),
                    "holds": lives and heard == heard_again == self.connections}  # fmt: skip

    def forged_keys(self):
        with tempfile.TemporaryDirectory() as keys:
            subprocess.run([self.volvox, "keys", keys, "--client", "one"], check=True, stdout=subprocess.DEVNULL)
            server_key, _ = zmq.auth.load_certificate(f"{keys}/server.key")
            public, secret = zmq.auth.load_certificate(f"{keys}/one.key_secret")
            options = ("--server-key", f"{keys}/server.key_secret", "--clients", f"{keys}/clients")
            with self.server(options=options, preload=True) as server:
                forged = [struct.pack(">BI", 0, (FIRST_FORGED + place) & 0xFFFFFFFF) for place in range(60)]
                certificate = (server_key, public, secret)
                forgers = Encrypted(server.endpoint, "127.0.0.2", certificate, forged)
                held, heard, honest = forgers.answered(), 0, []
                for start in range(0, self.connections, ENCRYPTED_AT_ONCE):
                    names = [None] * min(ENCRYPTED_AT_ONCE, self.connections - start)
                    honest.append(Encrypted(server.endpoint, "127.0.0.1", certificate, names))
                    heard += honest[-1].answered()
                figures = {"answered": heard, "of": self.connections, "rss_mib": server.rss_mib(),
                           "holds": alive(server) and heard == self.connections and held == 60}  # fmt: skip
                for clients in [forgers, *honest]:
                    clients.stop()
        return figures

    def deaf(self, length=4096, limit=32):
        limits = f"max_reply_mib_per_client = {limit}\nmax_requests_per_client = 100\nsilent_client_ms = 0\n"
        with self.server(limits) as server:
            other = Peer(server.endpoint).shake_hands()
            for number in range(300):  # what answers need besides the answers is there before
                other.send(*request(number, 4096))
                if number >= 100:
                    other.receive()
            for _ in range(100):
                other.receive()
            before = most = server.rss_mib()
            deaf = Peer(server.endpoint).shake_hands()
            body = request(1, length)[1] if length else b""
            sent, until = 0, time.monotonic() + PATIENCE
            closed = False
            while not closed and time.monotonic() < until:
                header = request(sent + 1, 1)[0] if length else ping(sent + 1)
                try:
                    deaf.send(header, body)
                except OSError:
                    closed = True
                sent += 1
                most = max(most, server.rss_mib())
            lives = alive(server) and answered([other]) == 1
            return {"sent": sent, "closed": closed, "grown_mib": most - before, "at_most_mib": limit + 16,
                    "holds": lives and closed and most - before <= limit + 16}  # fmt: skip

    def deaf_small(self):
        return self.deaf(length=0)

    def _fill(self, chunks, count=100, limit=64):
        with self.server(f"max_receiving_mib = {limit}\n") as server:
            other = Peer(server.endpoint).shake_hands()
            answered([other])
            before = most = server.rss_mib()
            peers = [Peer(server.endpoint).shake_hands() for _ in range(count)]
            heard = True
            for chunk in chunks:
                for peer in peers:
                    peer.push(chunk)
                most = max(most, server.rss_mib())
                heard = heard and answered([other]) == 1
            time.sleep(0.5)
            most = max(most, server.rss_mib())
            metrics = server.values()
            heard = heard and answered([other]) == 1 and answered([Peer(server.endpoint).shake_hands()]) == 1
            closed = sum(value for name, value in metrics.items() if name.startswith("volvox_connections_closed_total"))
            return {"grown_mib": most - before, "at_most_mib": limit + 16, "closed": closed,
                    "holds": alive(server) and heard and closed > 0 and most - before <= limit + 16}  # fmt: skip

    def unfinished(self, mib=16, chunks=63):
        start = b"\x01\x01h\x02" + struct.pack(">Q", mib * MIB)
        return self._fill([start, *([bytes((mib * MIB) // (chunks + 1))] * chunks)])

    def unfinished_small(self):
        return self.unfinished(2, 31)

    def endless(self):
        return self._fill([(b"\x03" + struct.pack(">Q", 100_000) + bytes(100_000)) * 2] * 60)

    def descriptors(self):
        with self.server(files=128) as server:
            standing = [Peer(server.endpoint).shake_hands() for _ in range(3)]
            answered(standing)
            host, port = server.endpoint.removeprefix("tcp://").rsplit(":", 1)
            idle = []
            for _ in range(140):
                stranger = socket.socket()
                stranger.connect((host, int(port)))
                idle.append(stranger)
            start, used, heard = time.monotonic(), cpu_s_of(server.process.pid), True
            while time.monotonic() < start + 3:
                heard = heard and answered(standing) == 3 and alive(server)
                time.sleep(0.2)
            load = (cpu_s_of(server.process.pid) - used) / (time.monotonic() - start)
            for stranger in idle:
                stranger.close()
            until, again = time.monotonic() + PATIENCE, False
            while not again and time.monotonic() < until:
                with contextlib.suppress(OSError):
                    again = answered([Peer(server.endpoint).shake_hands()]) == 1
            return {"core": load, "at_most": 0.1, "holds": heard and again and load < 0.1}


NAMES = ("forged", "forged_keys", "deaf", "deaf_small", "unfinished", "unfinished_small", "endless", "descriptors")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--volvox", default=str(ROOT / "build" / "release" / "volvox"))
    parser.add_argument("--preload", default=str(ROOT / "build" / "release" / "tests" / "measure" / "libvolvox_fixed_rand.so"))
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--json")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    raise_own_limit()
    door, figures = Door(options.volvox, options.preload, options.connections), {}
    for name in chosen(parser, options.names, NAMES):
        try:
            figures[name] = getattr(door, name)()
        except (OSError, EOFError, RuntimeError) as error:
            figures[name] = {"error": repr(error), "holds": False}
        print(name, json.dumps(figures[name]), flush=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    sys.exit(0 if all(figure["holds"] for figure in figures.values()) else 1)


if __name__ == "__main__":
    main()
