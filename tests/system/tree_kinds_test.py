"""Every kind of model that `volvox models new` writes, served, loaded and compared with the reference; lattices from clients.

Usage: tree_kinds_test.py VOLVOX [unittest's options]      VOLVOX: the executable
"""

import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "protocol" / "python"), str(ROOT / "tests"), str(ROOT / "tests" / "system")]

from kinds import VOCABULARY, all_kinds, write_kind  # noqa: E402
from served import PATIENCE, Server  # noqa: E402
from v2_client import Client as HttpClient  # noqa: E402
from volvox_client import Chain, Client, Code, Lattice, VolvoxError  # noqa: E402

VOLVOX = "volvox"
REQUESTS = 60


def random_lattice(chance, longest=30):
    length, words = chance.randint(1, longest), []
    for _ in range(chance.randrange(length) if length > 1 else 0):
        start = chance.randrange(length - 1)
        words.append((start, chance.randint(start + 2, min(length, start + 5))))
    ids = [[chance.randrange(VOCABULARY) for _ in range(count)] for count in (length, len(words))]
    return {"characters": ids[0], "words": ids[1]}, Lattice(length, [start for start, _ in words], [end for _, end in words])


class Kinds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.kinds = all_kinds(VOLVOX)
        for kind in cls.kinds:
            write_kind(VOLVOX, kind, cls.folder / "models" / kind)
        cls.server = Server(VOLVOX, cls.folder, [], http="127.0.0.1:0")
        cls.addClassCleanup(cls.server.kill)
        cls.client = Client(cls.server.endpoint, timeout=PATIENCE, connect_timeout=PATIENCE)
        cls.addClassCleanup(cls.client.close)

    def load(self, kind, *options):
        report = self.folder / "report.json"
        command = [VOLVOX, "load", "--connect", self.server.endpoint, "--models", str(self.folder / "models"), "--model", kind]
        command += ["--concurrency", "16", "--requests", str(REQUESTS), "--warmup", "0", "--require-all", "--json", str(report), *options]
        done = subprocess.run(command, check=False, timeout=PATIENCE, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        report = json.loads(report.read_text(encoding="utf-8"))
        self.assertEqual((report["completed"], report["wrong"], report["verified"]), (REQUESTS, 0, REQUESTS), kind)

    def test_each_is_served_and_right(self):
        self.assertGreaterEqual(len(self.kinds), 25)
        for kind in self.kinds:
            with self.subTest(kind):
                self.load(kind, "--length", "9", "--verify-count", str(REQUESTS))

    def test_lattices_from_a_file(self):
        chance, path = random.Random(1), self.folder / "lattices.jsonl"
        shapes = [random_lattice(chance)[1] for _ in range(40)]
        lines = [json.dumps({"chars": one.length, "words": list(zip(one.starts, one.ends))}) for one in shapes]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.load("lattice_lstm", "--lattices", str(path), "--verify-count", str(REQUESTS))
        path.write_text('{"chars": 3, "words": [[0, 1]]}\n', encoding="utf-8")
        command = [VOLVOX, "load", "--connect", self.server.endpoint, "--model", "lattice_lstm", "--lattices", str(path)]
        done = subprocess.run(command, check=False, timeout=PATIENCE, capture_output=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("lattices.jsonl:1:", done.stderr.decode())

    def test_company_changes_no_bit(self):
        chance = random.Random(2)
        for kind in ("lattice_lstm", "lattice_gru"):
            asked = [random_lattice(chance) for _ in range(60)]
            alone = [self.client.infer(kind, inputs, structure=lattice).tensors["h"] for inputs, lattice in asked]
            pending = [self.client.submit(kind, inputs, structure=lattice) for inputs, lattice in asked]
            for expected, answer in zip(alone, pending):
                self.assertEqual(answer.result(PATIENCE).tensors["h"], expected)

    def test_both_doors_take_lattices(self):
        inputs, lattice = {"characters": [3, 1, 4], "words": [15, 9]}, Lattice(3, [0, 1], [2, 3])
        here = self.client.infer("lattice_gru", inputs, structure=lattice)["h"].tolist()
        tensors = {name: ("INT32", [len(ids)], ids) for name, ids in inputs.items()}
        _, there = HttpClient(self.server.http).infer("lattice_gru", tensors, parameters={"structure": {"lattice": lattice._asdict()}})
        self.assertEqual([struct.unpack("f", struct.pack("f", x))[0] for x in there["h"]], here)

    def infer(self, request, *options):
        command = [VOLVOX, "infer", "--connect", self.server.endpoint, "--verify", str(self.folder / "models" / request["model"]), *options]
        done = subprocess.run(command, input=json.dumps(request).encode(), check=False, timeout=PATIENCE, capture_output=True)
        return done.returncode, (json.loads(done.stdout)["outputs"] if done.returncode == 0 else done.stderr.decode())

    def test_requests_may_be_written_as_text(self):
        vocabulary = self.folder / "words.txt"
        vocabulary.write_text("<unk>\nIt\nworks\nwell\n\u5357\n\u4eac\n\u5e02\n\u5357\u4eac\n", encoding="utf-8")
        words = ("--vocabulary", str(vocabulary))
        for written, ids, options in (
            ({"model": "lstm", "text": "It works unheard"}, {"model": "lstm", "tokens": [1, 2, 0]}, words),
            ({"model": "lstm", "text": "1 2  0"}, {"model": "lstm", "tokens": [1, 2, 0]}, ()),
            ({"model": "tree_lstm", "tree": "(3 (2 It) (4 (2 works) (2 well)))"},
             {"model": "tree_lstm", "tokens": [1, 2, 3, 0, 0], "structure": {"tree": {"parents": [4, 3, 3, 4, -1]}}}, words),
            ({"model": "lattice_lstm", "lattice": {"characters": "\u5357\u4eac\u5e02", "words": [[0, 2], [1, 3, 9]]}},
             {"model": "lattice_lstm", "inputs": {"characters": {"data": [4, 5, 6]}, "words": {"data": [7, 9]}},
              "structure": {"lattice": {"length": 3, "starts": [0, 1], "ends": [2, 3]}}}, words),
            ({"model": "lattice_lstm", "lattice": {"characters": [4, 5, 6], "words": [[0, 2, 7], [1, 3, 9]]}},
             {"model": "lattice_lstm", "lattice": {"characters": "\u5357\u4eac\u5e02", "words": [[0, 2], [1, 3, 9]]}}, words),
        ):  # fmt: skip
            answer, expected = self.infer(written, *options), self.infer(ids, *options)
            self.assertEqual(answer[0], 0, answer[1])
            self.assertEqual(answer, expected)
        for wrong, why in (
            ({"model": "lstm", "text": "It"}, "is no token id; name a file of words"),
            ({"model": "lstm", "text": 3}, "must be a text"),
            ({"model": "lstm", "text": "1", "tokens": [1]}, "not both"),
            ({"model": "tree_lstm", "tree": "(3 (2 1)"}, "a bracket is not closed"),
            ({"model": "lattice_lstm", "lattice": {"characters": [1, 2], "words": [[0, 2]]}}, "has no id"),
            ({"model": "lattice_lstm", "lattice": {"characters": [1, 2], "words": [[0]]}}, "is not [first, end, id]"),
            ({"model": "lattice_lstm", "lattice": {"characters": [1, 2], "words": [[0, 1, 7]]}}, "two characters or more"),
        ):
            code, text = self.infer(wrong)
            self.assertEqual(code, 1)
            self.assertIn(why, text)

    def test_a_model_runs_without_a_server(self):
        for request in ({"model": "lattice_gru", "lattice": {"characters": [4, 5, 6], "words": [[0, 2, 7], [1, 3, 9]]}},
                        {"model": "attention_seq2seq", "text": "1 2 3"}):  # fmt: skip
            served, folder = self.infer(request), str(self.folder / "models" / request["model"])
            self.assertEqual(self.infer(request, "--local", folder), served)
        self.assertIn("holds no model", self.infer({"model": "lstm", "text": "1"}, "--local", str(self.folder))[1])

    def test_what_is_no_lattice_is_refused(self):
        many = 100_000
        wrong = (
            (Lattice(3, [1], [2]), 3, 1, "two characters or more"),
            (Lattice(3, [2], [4]), 3, 1, "outside of 3 characters"),
            (Lattice(3, [2], [1]), 3, 1, "outside of 3 characters"),
            (Lattice(3, [0], [2]), 3, 2, "words"),
            (Lattice(3, [0], [2]), 2, 1, "characters"),
            (Lattice(3, [0, 0], [2]), 3, 2, "ends"),
            (Lattice(many, [0], [2]), many, 1, "at most 4096 characters and words"),
            (Lattice(3, [0] * many, [2] * many), 3, many, "at most 4096 characters and words"),
            (Chain(3), 3, 1, "send one, with its words"),
        )
        for structure, characters, words, why in wrong:
            with self.assertRaises(VolvoxError, msg=why) as refused:
                self.client.infer("lattice_lstm", {"characters": [1] * characters, "words": [1] * words}, structure=structure)
            self.assertEqual(refused.exception.code, Code.INVALID_ARGUMENT)
            self.assertIn(why, str(refused.exception))
        for ids, why in (({"characters": [1, 2], "words": [VOCABULARY]}, "ids must be at least 0 and below"), ({"characters": [1, 2]}, "missing")):
            with self.assertRaises(VolvoxError) as refused:
                self.client.infer("lattice_lstm", ids, structure=Lattice(2, [0], [2]))
            self.assertEqual(refused.exception.code, Code.INVALID_ARGUMENT)
            self.assertIn(why, str(refused.exception))


if __name__ == "__main__":
    VOLVOX = sys.argv.pop(1)
    unittest.main()
