"""Trees by every door of a real server: the protocol's page, the command line, the Python client.

Usage: tree_doors_test.py VOLVOX [unittest's options]      VOLVOX: the executable
"""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "protocol" / "python"), str(ROOT / "tests")]

from check_model import check_hash  # noqa: E402
from pages import Pages, block_with, blocks_with_curl  # noqa: E402
from served import PATIENCE  # noqa: E402
from volvox_client import Client, Tree  # noqa: E402


class Trees(Pages):
    models = (("lstm", "lstm", "--hidden", "16"), ("tree_lstm", "tree", "--hidden", "16"),
              ("check_tree", "nodes", "--every-step"))  # fmt: skip

    def test_the_protocols_page(self):
        (structure,) = [block for block in blocks_with_curl("docs/protocol.md") if "models/tree" in block]
        (tree,) = self.run_block(structure)
        self.assertEqual(len(tree["outputs"][0]["data"]), 16)
        self.assertEqual(tree["parameters"]["cells"], 5)
        inferred = self.infer(block_with("docs/protocol.md", "| volvox infer"))
        for one, other in zip(inferred["outputs"]["h"]["data"], tree["outputs"][0]["data"]):
            self.assertAlmostEqual(one, other, places=6)  # the same floats, written with more digits or fewer
        # This model takes chains only; but it was asked with a tree.
        (refused,) = self.run_block(structure.replace("models/tree", "models/lstm"))
        self.assertIn("send a chain", refused["error"])

    def test_the_python_client_is_answered_node_by_node(self):
        tokens, parents, states = [5, -6, 7, 8, 9], [4, 2, 4, 4, -1], []
        for node, token in enumerate(tokens):
            children = [states[child] for child in range(node) if parents[child] == node]
            states.append(check_hash([token, *children]))
        with Client(self.endpoint, timeout=PATIENCE, connect_timeout=PATIENCE) as client:
            reply = client.infer("nodes", {"tokens": tokens}, structure=Tree(parents))
            self.assertEqual((reply["state"].tolist(), reply.cells), (states, 5))


if __name__ == "__main__":
    Pages.volvox = sys.argv.pop(1)
    unittest.main()
