"""`volvox load --sessions` against a server that refuses parts: what it sends in their place, and what it counts as wrong.

Usage: load_sessions_test.py VOLVOX [unittest's options]      VOLVOX: the executable
"""

import collections
import dataclasses
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

import python_client_test as base
import volvox_wire as wire
import zmq
from volvox_client import Code, SessionToken

VOLVOX = "volvox"
ANSWER = base.AgainstNonsense.body(None, 42)


class Server:
    """Refuses the first sending of each session's first part with an error; everything else has the same answer. `parts`: the
    bodies that came for each part, by (nonce, sequence)."""

    def __init__(self, code, undecided):
        self.code, self.undecided, self.parts, self.refused = code, undecided, collections.defaultdict(list), set()
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.linger = 0
        self.endpoint = f"tcp://127.0.0.1:{self._socket.bind_to_random_port('tcp://127.0.0.1')}"
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self):
        self._over.set()
        self._thread.join()
        self._context.destroy(linger=0)

    def _run(self):
        while not self._over.is_set():
            if self._socket.poll(20):
                name, header, body = self._socket.recv_multipart()
                for reply in self._answer(header, body):
                    self._socket.send_multipart([name, *reply])

    def _answer(self, header, body):
        kind, number = wire.struct.unpack_from("<HHHxxQ", header, 16)[1::2]
        if wire.REQUEST_KINDS[kind] == "ping":
            return [self._reply("pong", number)]
        if wire.REQUEST_KINDS[kind] != "infer":
            return []
        token = wire._session(wire.Message(header).root().struct(1))
        if token is None:
            return [self._reply("result", number)]
        key = token.nonce, token.sequence
        self.parts[key].append(body)
        if token.sequence == 0 and token.nonce not in self.refused:
            self.refused.add(token.nonce)
            return [self._reply("error", number, code=int(self.code))]
        return [self._reply("result", number, token=dataclasses.replace(token, id_lo=token.nonce or 1))]

    def _reply(self, kind, number, code=0, token=None):
        out = wire.Builder(7, 3)
        flags = 1 | (2 if kind == "error" and self.undecided else 0)
        wire.struct.pack_into("<HHHBxQI", out.bytes, out.root, 1, wire.REPLY_KINDS.index(kind), code, flags, number, 0)
        if token is not None:
            wire._put_session(out, out.root + 72, token)
        return [bytes(out.finish()), ANSWER if kind == "result" else b""]


class Replacement(unittest.TestCase):
    def load(self, code, *options, undecided=False):
        """(exit status, report, bodies of the parts that were refused, and of what came in their place)"""
        server = Server(code, undecided)
        self.addCleanup(server.stop)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "report.json"
            command = [VOLVOX, "load", "--connect", server.endpoint, "--model", "m", "--sessions", "1", "--parts", "3", "--pause-ms", "1"]
            command += ["--length", "5", "--seconds", "0.5", "--json", str(file), *options]
            done = subprocess.run(command, capture_output=True, text=True, timeout=base.PATIENCE, check=False)
            report = json.loads(file.read_text(encoding="utf-8"))
        pairs = [bodies for (_, sequence), bodies in server.parts.items() if sequence == 0 and len(bodies) > 1]
        return done.returncode, report, pairs

    def test_something_else_is_sent_in_place_of_a_part_that_failed(self):
        status, report, pairs = self.load(Code.CANCELLED)
        self.assertEqual((status, report["wrong"]), (0, 0), report)
        self.assertGreater(report["replaced"], 0)
        self.assertTrue(pairs)
        for refused, *others in pairs:
            self.assertNotIn(refused, others)

    def test_the_same_is_sent_again_if_that_is_asked_for(self):
        status, report, pairs = self.load(Code.CANCELLED, "--same-parts")
        self.assertEqual((status, report["wrong"], report["replaced"]), (0, 0, 0), report)
        self.assertTrue(pairs)
        for bodies in pairs:
            self.assertEqual(len(set(bodies)), 1)

    def test_the_same_is_sent_again_where_nobody_knows(self):
        _, report, pairs = self.load(Code.UNAVAILABLE, undecided=True)
        self.assertEqual(report["replaced"], 0, report)
        self.assertTrue(pairs)
        for bodies in pairs:
            self.assertEqual(len(set(bodies)), 1)

    def test_a_part_that_is_refused_as_invalid_is_wrong(self):
        status, report, _ = self.load(Code.INVALID_ARGUMENT)
        self.assertEqual(status, 1)
        self.assertGreater(report["wrong"], 0)


if __name__ == "__main__":
    VOLVOX = sys.argv.pop(1)
    unittest.main()
