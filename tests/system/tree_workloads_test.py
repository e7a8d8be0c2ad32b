"""What docs/workloads.md does, against a real server.

Usage: tree_workloads_test.py VOLVOX [unittest's options]      VOLVOX: the executable
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from served import PATIENCE, Server  # noqa: E402

VOLVOX = "volvox"


class Workloads(unittest.TestCase):
    def test_the_page(self):
        text = (ROOT / "docs" / "workloads.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        self.assertGreaterEqual(len(blocks), 9)
        with tempfile.TemporaryDirectory() as scratch:
            for block in blocks:
                self.run_in(scratch, "".join(self.lines(block, new=True)))
            server = Server(VOLVOX, scratch, [])
            self.addCleanup(server.kill)
            for block in blocks:
                script = "".join(self.lines(block, new=False))
                with self.subTest(block):
                    self.assertIn("volvox infer", script)
                    self.assertIn("volvox load", script)
                    script = re.sub(r"volvox (infer|load)", rf"'{VOLVOX}' \1 --server {server.endpoint}", script)
                    printed = self.run_in(scratch, script)
                    self.assertIn('"outputs"', printed)
                    self.assertNotRegex(printed, r"[1-9][0-9]* wrong")

    @staticmethod
    def lines(block, new):
        return [line for line in block.splitlines(keepends=True) if line.startswith("volvox models new") == new]

    def run_in(self, folder, script):
        script = "set -euo pipefail\n" + script.replace("volvox models new", f"'{VOLVOX}' models new")
        done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        return done.stdout


if __name__ == "__main__":
    VOLVOX = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
