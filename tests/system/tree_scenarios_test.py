"""The papers' experiments over trees (loadgen/scenarios), run small.

Usage: tree_scenarios_test.py VOLVOX [unittest's options]
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

RUN = pathlib.Path(__file__).resolve().parents[2] / "loadgen" / "scenarios" / "run.py"
VOLVOX = sys.argv.pop(1)
PATIENCE = 280


def watches_threads():
    with open(VOLVOX, "rb") as file:
        return b"__tsan_init" in file.read()


@unittest.skipIf(watches_threads(), "ThreadSanitizer makes saturated clusters fall apart")
class Trees(unittest.TestCase):
    def test_trees_are_measured_beside_merged_graphs(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        folder = pathlib.Path(scratch.name)
        (folder / "sst_trees.txt").write_text("(3 (2 It) (4 (2 works) (2 well)))\n", encoding="utf-8")
        for name, base, data in (("figure14", "agenda", "sst_trees.txt"), ("figure15", "depth", "complete binary trees of 16 leaves")):
            with self.subTest(name):
                command = [sys.executable, str(RUN), name, "--volvox", VOLVOX, "--hidden", "8", "--vocabulary", "50", "--max-batch", "4",
                           "--rounds", "1", "--seconds", "1", "--out", str(folder / "out"), "--data", str(folder)]
                done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f"of {base}'s", done.stdout)
                report = json.loads((folder / "out" / f"{name}.json").read_text(encoding="utf-8"))
                self.assertEqual(report["data"], data)
                self.assertEqual(report["summary"][base]["saturated_ratio"]["median"], 1)
                self.assertEqual(report["summary"]["cellular"]["loads"]["0.25"]["failed"], 0)


if __name__ == "__main__":
    unittest.main()
