"""What the README and the protocol's page do with curl, against a real server.

Usage: readme_test.py VOLVOX [unittest's options]      VOLVOX: the executable
"""

import json
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from pages import Pages, blocks_with_curl  # noqa: E402


class Readme(Pages):
    models = (("lstm", "lstm", "--hidden", "16"),)

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
        (sequence,) = [block for block in blocks_with_curl("docs/protocol.md") if "sequence_id" in block]
        first, last = self.run_block(sequence)
        whole = {"inputs": [{"name": "tokens", "datatype": "INT32", "shape": [2], "data": [12, 7]}]}
        (answer,) = self.run_block(f"curl --json '{json.dumps(whole)}' http://127.0.0.1:7102/v2/models/lstm/infer")
        self.assertEqual(last["outputs"], answer["outputs"])
        self.assertNotEqual(first["outputs"], answer["outputs"])


if __name__ == "__main__":
    Pages.volvox = sys.argv.pop(1)
    unittest.main()
