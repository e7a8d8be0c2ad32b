"""The pages' blocks of commands, run against a server of one's own: for tests that do what a reader does."""

import json
import pathlib
import re
import subprocess
import tempfile
import unittest

from served import PATIENCE, Server

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Quiet, and for a while only.
CURL = 'set -eu\ncurl() { command curl --silent --show-error --max-time 30 "$@"; }\n'


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


class Pages(unittest.TestCase):
    """`volvox`: the executable. `models`: what is served, as `Server` takes them."""

    volvox = "volvox"
    models = ()

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        server = Server(self.volvox, scratch.name, self.models, http="127.0.0.1:0")
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
        script = block.replace("volvox infer", f"'{self.volvox}' infer --server {self.endpoint}")
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        return json.loads(done.stdout)
