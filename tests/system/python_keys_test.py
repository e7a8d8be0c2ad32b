"""A real server that knows its clients by their keys: who is let in, what each may have in flight, whose sessions are whose.

Usage: python_keys_test.py VOLVOX [unittest's options]      VOLVOX: the executable
"""

import dataclasses
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

import python_client_test as base
from check_model import check_hash
from python_client_test import AgainstAServer
from served import PATIENCE
from volvox_client import Code, SessionToken


class Encrypted(AgainstAServer):
    """Keys from `volvox keys`; the test's own client is alice."""

    more_config = ""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.keys = pathlib.Path(scratch.name) / "keys"
        for name in ("alice", "bob"):
            self.make_key(name)
        self.config = f'[security]\nserver_key = "{self.keys}/server.key_secret"\nclients = "{self.keys}/clients"\n'
        self.config += self.more_config
        super().setUp()

    def make_key(self, name):
        subprocess.run([base.VOLVOX, "keys", str(self.keys), "--client", name], check=True, stdout=subprocess.DEVNULL)

    def connect(self, name="alice", **options):
        keys = {"server_key": self.keys / "server.key", "client_key": self.keys / f"{name}.key_secret"}
        return super().connect(**{**keys, **options})


class Admittance(Encrypted):
    def test_whoever_has_a_key_is_answered(self):
        self.assertEqual(self.client.infer("check", {"tokens": [1, 2]})["state"].tolist(), check_hash([1, 2]))
        command = [base.VOLVOX, "infer", "--connect", self.server.endpoint, "--server-key", str(self.keys / "server.key"),
                   "--client-key", str(self.keys / "alice.key_secret")]  # fmt: skip
        subprocess.run(command, input=b'{"model": "check", "tokens": [1]}', check=True, stdout=subprocess.DEVNULL)

    def test_whoever_has_none_is_not(self):
        self.fails(Code.UNAUTHENTICATED, self.connect, server_key=None, client_key=None)
        self.make_key("mallory")
        (self.keys / "clients" / "mallory.key").unlink()
        self.fails(Code.UNAUTHENTICATED, self.connect, "mallory")
        self.fails(Code.INVALID_ARGUMENT, self.connect, client_key=self.keys / "clients" / "alice.key")
        command = [base.VOLVOX, "infer", "--connect", self.server.endpoint]
        asked = subprocess.run(command, input=b'{"model": "check", "tokens": [1]}', capture_output=True)
        self.assertEqual(asked.returncode, 1)
        self.assertIn(b"UNAUTHENTICATED", asked.stderr)


class Quotas(Encrypted):
    """A task takes 50 ms: long chains do not end while a test looks."""

    more_config = '[device]\nkind = "timed"\ntimed_task_us = 50000\n[[client]]\nname = "alice"\nmax_requests = 2\n'
    slow = {"tokens": [1] * 4000}

    def test_all_connections_of_a_key_share_one(self):
        others = [self.connect(), self.connect()]
        asked = [client.submit("check", self.slow) for client in (self.client, others[0])]
        for client in (self.client, others[0]):
            client.ping(PATIENCE)  # behind them on the same connections: the server has the requests
        for client in (*others, self.client):
            error = self.fails(Code.OVERLOADED, client.infer, "check", {"tokens": [1]})
            self.assertFalse(error.local)
            self.assertIn("'alice'", str(error))
            self.assertGreater(error.retry_after, 0)
        self.assertEqual(self.connect("bob").infer("check", {"tokens": [2]})["state"].tolist(), check_hash([2]))
        self.assertEqual(self.server.values()['volvox_refused_total{bound="key"}'], 3)
        for answer in asked:
            answer.cancel()
            self.assertEqual(answer.exception(PATIENCE).code, Code.CANCELLED)
        until = time.monotonic() + PATIENCE
        while self.server.values()["volvox_requests_in_flight"] > 0 and time.monotonic() < until:
            time.sleep(0.01)
        self.assertEqual(others[1].infer("check", {"tokens": [3]})["state"].tolist(), check_hash([3]))


class Sessions(Encrypted):
    def test_belong_to_the_key_that_began_them(self):
        bob, begin = self.connect("bob"), SessionToken.begin()
        hers = self.client.infer("check", {"tokens": [1]}, session=begin)
        his = bob.infer("check", {"tokens": [2]}, session=begin)  # the same nonce
        self.assertEqual((hers["state"].tolist(), his["state"].tolist()), (check_hash([1]), check_hash([2])))
        ids = [(reply.session.id_hi, reply.session.id_lo) for reply in (hers, his)]
        self.assertNotEqual(*ids)
        for end in (False, True):
            error = self.fails(Code.PERMISSION_DENIED, bob.infer, "check", {"tokens": [3]}, session=hers.session.next(end=end))
            self.assertFalse(error.local)
        repeated = bob.infer("check", {"tokens": [2]}, session=begin)
        self.assertEqual((repeated.session.id_hi, repeated.session.id_lo), ids[1], "a repeated begin finds its own")
        again = self.connect().infer("check", {"tokens": [3]}, session=hers.session.next())
        self.assertEqual(again["state"].tolist(), check_hash([1, 3]), "her other connection has her key")
        unknown = dataclasses.replace(again.session.next(), id_lo=again.session.id_lo ^ 1)
        self.fails(Code.SESSION_LOST, bob.infer, "check", {"tokens": [3]}, session=unknown)


if __name__ == "__main__":
    base.VOLVOX = sys.argv.pop(1)
    unittest.main()
