"""Stacks of LSTMs, composed of lanes, on real processes: whatever serves a chain serves them, and gives the same bits.

Usage: stacks_test.py VOLVOX [unittest's options]      VOLVOX: the executable
"""

import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
for place in ("tests", "tests/measure"):
    sys.path.insert(0, str(ROOT / place))

from cluster_processes import Cluster, Loopback  # noqa: E402
from python_session_test import Stream  # noqa: E402
import python_client_test as base  # noqa: E402
from served import PATIENCE, Server  # noqa: E402
from v2_client import Client as HttpClient  # noqa: E402
from volvox_client import Client, Code, VolvoxError  # noqa: E402

VOLVOX = "volvox"
WIDE = ("lstm", "wide", "--layers", "2", "--hidden", "40", "--input", "72", "--vocabulary", "100")
DEEP = ("lstm", "deep", "--layers", "3", "--hidden", "24", "--input", "11", "--vocabulary", "100", "--max-batch", "7")
EVERY = ("lstm", "every", "--layers", "2", "--hidden", "16", "--vocabulary", "100", "--every-step")
CONFIG = '[batching]\neager = "{}"\nfold_mib = {}\n[sessions]\nmax_resident = 3\n'


def sequences(seed, count, longest=25):
    chance = random.Random(seed)
    return [[chance.randrange(100) for _ in range(chance.randint(1, longest))] for _ in range(count)]


def verified(report):
    return report["completed"] > 0 and report["verified"] > 0 and report["wrong"] == 0 and report["duplicates"] == 0


class Served(unittest.TestCase):
    eager = "on"  # the lowest layer computes ahead what does not depend on the step before
    fold_mib = 0

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.server = Server(VOLVOX, self.folder, [WIDE, DEEP, EVERY], CONFIG.format(self.eager, self.fold_mib), http="127.0.0.1:0")
        self.addCleanup(self.server.kill)
        self.client = Client(self.server.endpoint, timeout=PATIENCE, connect_timeout=PATIENCE)
        self.addCleanup(self.client.close)

    def infer(self, model, tokens):
        return next(iter(self.client.infer(model, {"tokens": tokens}).tensors.values())).data

    def load(self, model, *options):
        """`volvox load`, its answers compared with the reference in double precision: its report."""
        report = self.folder / "report.json"
        command = [VOLVOX, "load", "--connect", self.server.endpoint, "--models", str(self.folder / "models"), "--model", model]
        command += ["--length", "12", "--json", str(report), *options]
        subprocess.run(command, check=True, timeout=PATIENCE, capture_output=True)
        return json.loads(report.read_text(encoding="utf-8"))

    def test_answers_agree_with_the_reference(self):
        for model in ("wide", "deep", "every"):
            report = self.load(model, "--concurrency", "16", "--requests", "200", "--warmup", "0", "--require-all")
            self.assertTrue(verified(report), report)
            self.assertEqual(report["completed"], 200, report)

    def test_company_changes_no_bit(self):
        for model in ("wide", "deep", "every"):
            asked = sequences(1, 40)
            alone = [self.infer(model, tokens) for tokens in asked]
            pending = [self.client.submit(model, {"tokens": tokens}) for tokens in asked]
            for expected, answer in zip(alone, pending):
                self.assertEqual(next(iter(answer.result(PATIENCE).tensors.values())).data, expected)

    def test_parts_of_a_session_give_the_bits_of_the_whole(self):
        for model in ("wide", "deep"):
            streams = [Stream(model) for _ in range(8)]  # more than have a place: state spills and comes back
            for turn in range(3):
                parts = sequences(turn, len(streams), 9)
                answers = [stream.submit(self.client, part) for stream, part in zip(streams, parts)]
                for stream, answer in zip(streams, answers):
                    self.assertEqual(stream.take(answer), self.infer(model, stream.tokens))
            for stream in streams:
                self.client.infer(model, {}, session=stream.ending())

    def test_http_gives_the_same(self):
        http = HttpClient(self.server.http)
        for model in ("wide", "deep"):
            for tokens in sequences(2, 5):
                _, outputs = http.infer(model, {"tokens": ("INT32", [len(tokens)], tokens)})
                expected = self.client.infer(model, {"tokens": tokens})["h"].tolist()
                self.assertEqual(base.wire.tensor(outputs["h"]).data, base.wire.tensor(expected).data)


class ServedWhole(Served):
    eager = "off"


class ServedFolded(Served):
    fold_mib = 16  # it looks that up in a table


class Clustered(unittest.TestCase):
    def test_a_drain_ends_the_sessions_of_its_node_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            cluster = Cluster(VOLVOX, folder, Loopback(), "", routers=1, nodes=2)
            self.addCleanup(cluster.end)
            cluster.new_model(*DEEP)
            admins = [pathlib.Path(folder) / f"{member.name}.admin" for member in (*cluster.routers, *cluster.nodes)]
            for admin, member in zip(admins, (*cluster.routers, *cluster.nodes)):
                member.command += ["--admin", str(admin)]
            cluster.start()
            client = Client(cluster.routers[0].endpoint, timeout=PATIENCE, connect_timeout=PATIENCE)
            self.addCleanup(client.close)
            streams = [Stream("deep") for _ in range(16)]
            for stream, part in zip(streams, sequences(4, len(streams), 9)):
                stream.send(client, part)
            command = [VOLVOX, "drain", "n0", "--admin", str(admins[0]), "--wait", str(PATIENCE)]
            subprocess.run(command, check=True, timeout=2 * PATIENCE, capture_output=True)
            ended = 0
            for stream, part in zip(streams, sequences(5, len(streams), 9)):
                try:
                    answer = stream.send(client, part)
                except VolvoxError as error:
                    self.assertEqual(error.code, Code.SESSION_EXPIRED, error)
                    ended += 1
                    continue
                self.assertEqual(answer, client.infer("deep", {"tokens": stream.tokens}).tensors["h"].data)
            self.assertTrue(0 < ended < len(streams), ended)


if __name__ == "__main__":
    VOLVOX = sys.argv.pop(1)
    unittest.main()
