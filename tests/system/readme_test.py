"""What the README and the protocol's page do with curl, against a real server.

Usage: readme_test.py VOLVOX [unittest's options]      VOLVOX: the executable
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from served import PATIENCE, Server  # noqa: E402

VOLVOX = sys.argv.pop(1)
# Quiet, and each answer on a line of its own.
CURL = 'set -eu\ncurl() { command curl --silent --show-error --max-time 30 "$@"; echo; }\n'


def blocks_with_curl(path):
    """A page's blocks of commands that do nothing but ask a running server."""
    text = (ROOT / path).read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [block for block in blocks if "curl " in block and "volvox " not in block and "$V" not in block]


def block_with(path, text):
    """A page's only block of commands in which this text stands."""
    blocks = re.findall(r"^```sh\n(.*?)^```", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (found,) = [block for block in blocks if text in block]
    return found


class Readme(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        models = (("new-lstm", "lstm", "--hidden", "16"), ("new-tree", "tree", "--hidden", "16"))
        server = Server(VOLVOX, scratch.name, models, http="127.0.0.1:0")
        self.addCleanup(server.kill)
        self.url, self.endpoint = server.http, server.endpoint

    def run_block(self, block):
        """What each command of the block was answered."""
        self.assertIn("http://127.0.0.1:7102", block)
        script = CURL + block.replace("http://127.0.0.1:7102", self.url)
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def infer(self, block):
        """What the block's only `volvox infer` was answered."""
        script = block.replace("volvox infer", f"'{VOLVOX}' infer --server {self.endpoint}")
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        return json.loads(done.stdout)

    def test_the_readme(self):
        blocks = blocks_with_curl("README.md")
        self.assertEqual(len(blocks), 1)
        answers = self.run_block(blocks[0])
        self.assertEqual(len(answers), len(re.findall(r"^curl ", blocks[0], re.MULTILINE)))
        ready, model, whole, first, last, statistics = answers
        self.assertEqual(ready, {"ready": True})
        self.assertEqual(model["inputs"], [{"name": "tokens", "datatype": "INT32", "shape": [-1]}])
        self.assertEqual(len(whole["outputs"][0]["data"]), 16)
        # As the comment there says.
        self.assertEqual(last["outputs"], whole["outputs"])
        self.assertNotEqual(first["outputs"], whole["outputs"])
        self.assertEqual(statistics["model_stats"][0]["inference_count"], 3)

    def test_the_protocols_page(self):
        structure, sequence = blocks_with_curl("docs/protocol.md")
        (tree,) = self.run_block(structure)
        self.assertEqual(len(tree["outputs"][0]["data"]), 16)
        self.assertEqual(tree["parameters"]["cells"], 5)
        inferred = self.infer(block_with("docs/protocol.md", "| volvox infer"))
        for one, other in zip(inferred["outputs"]["h"]["data"], tree["outputs"][0]["data"]):
            self.assertAlmostEqual(one, other, places=6)  # the same floats, written with more digits or fewer
        # This model takes chains only; but it was asked with a tree.
        (refused,) = self.run_block(structure.replace("models/tree", "models/lstm"))
        self.assertIn("send a chain", refused["error"])
        first, last = self.run_block(sequence)
        whole = {"inputs": [{"name": "tokens", "datatype": "INT32", "shape": [2], "data": [12, 7]}]}
        (answer,) = self.run_block(f"curl --json '{json.dumps(whole)}' http://127.0.0.1:7102/v2/models/lstm/infer")
        self.assertEqual(last["outputs"], answer["outputs"])
        self.assertNotEqual(first["outputs"], answer["outputs"])


if __name__ == "__main__":
    unittest.main()
