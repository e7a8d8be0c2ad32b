"""Graphs that clients send, on a real server, made of the cells of trees.

Usage: tree_graphs_test.py VOLVOX [unittest's options]      VOLVOX: the executable
"""

import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "protocol" / "python"), str(ROOT / "tests")]

from check_model import check_hash  # noqa: E402
from served import PATIENCE, Server  # noqa: E402
from volvox_client import Client, Code, Graph, Tree, VolvoxError  # noqa: E402

VOLVOX = "volvox"


def random_graph(chance, nodes, name):
    before = [sorted(chance.sample(range(v), min(v, chance.randrange(5)))) for v in range(nodes)]
    offsets = [sum(len(one) for one in before[:v]) for v in range(nodes + 1)]
    return before, Graph([name], [0] * nodes, offsets, [node for one in before for node in one])


class Graphs(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        folder = pathlib.Path(scratch.name)
        for model in (("check_tree", "hashes", "--every-step"), ("tree_lstm", "tree", "--hidden", "16", "--vocabulary", "50")):
            command = [VOLVOX, "models", "new", model[0], str(folder / "models" / model[1]), *model[2:]]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        shutil.copytree(folder / "models" / "tree", folder / "models" / "graph")
        for name in ("hashes", "graph"):  # the same cells and weights, over graphs
            definition = folder / "models" / name / "model.toml"
            text, count = re.subn(r"^unfolding = .tree.$", "unfolding = 'graph'", definition.read_text(encoding="utf-8"), flags=re.MULTILINE)
            self.assertEqual(count, 1, text)
            definition.write_text(re.sub(r"\Aname = .*", f"name = '{name}'", text), encoding="utf-8")
        self.server = Server(VOLVOX, folder, [])
        self.addCleanup(self.server.kill)
        self.client = Client(self.server.endpoint, timeout=PATIENCE, connect_timeout=PATIENCE)
        self.addCleanup(self.client.close)

    def test_each_node_reads_what_it_lists(self):
        chance, asked = random.Random(3), []
        for _ in range(60):
            before, graph = random_graph(chance, chance.randint(1, 80), "tree")
            tokens = [chance.randrange(-(2**31), 2**31) for _ in before]
            states = []
            for token, nodes in zip(tokens, before):
                states.append(check_hash([token, *(states[node] for node in nodes)]))
            asked.append((states, self.client.submit("hashes", {"tokens": tokens}, structure=graph)))
        for states, answer in asked:
            self.assertEqual(answer.result(PATIENCE)["state"].tolist(), states)

    def test_a_tree_gives_the_same_bits_as_a_graph(self):
        tokens, types = [7, 8, 0, 9, 0], [0, 0, 1, 0, 1]
        graph = Graph(["tree.leaf", "tree.internal"], types, [0, 0, 0, 2, 2, 4], [0, 1, 2, 3])
        tree = self.client.infer("tree", {"tokens": tokens}, structure=Tree([2, 2, 4, 4, -1]))
        self.assertEqual(self.client.infer("graph", {"tokens": tokens}, structure=graph).tensors["h"], tree.tensors["h"])

    def test_what_does_not_fit_is_refused(self):
        for structure, why in ((Tree([2, 2, -1]), "send a graph"),
                               (Graph(["leaf"], [0], [0, 0], []), "there is no cell type 'leaf'"),
                               (Graph(["tree.leaf"], [0, 0], [0, 0, 1], [0]), "reads at most 0")):  # fmt: skip
            tokens = [1] * len(getattr(structure, "type_of", structure[0]))
            with self.assertRaises(VolvoxError) as refused:
                self.client.infer("graph", {"tokens": tokens}, structure=structure)
            self.assertEqual(refused.exception.code, Code.INVALID_ARGUMENT)
            self.assertIn(why, str(refused.exception))


if __name__ == "__main__":
    VOLVOX = sys.argv.pop(1)
    unittest.main()
