#!/usr/bin/env python3
"""Layers of PyTorch, exported and served, against PyTorch itself: torch_export_test.py VOLVOX. Skips without PyTorch."""

import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "protocol" / "python"), str(ROOT / "tests")]

import served  # noqa: E402
from volvox import Client, SessionToken, export, export_sequence, export_state, export_step  # noqa: E402

try:
    import numpy as np
    import torch
    from torch import nn
except ImportError:
    print("torch_export_test: no PyTorch here, skipped")
    sys.exit(77)

VOLVOX = sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/volvox"
KINDS = {
    "lstm": nn.LSTM,
    "gru": nn.GRU,
    "rnn": nn.RNN,
    "rnn_relu": lambda *shape, **options: nn.RNN(*shape, nonlinearity="relu", **options),
}
LAYERS = {
    f"{kind}_{count}_{'both' if both else 'forth'}": lambda make=make, count=count, both=both: make(
        7, 6, num_layers=count, bidirectional=both, batch_first=count % 2 == 0
    )
    for kind, make in KINDS.items()
    for count in (1, 2, 3, 4)
    for both in (False, True)
} | {
    "lstm_projection": lambda: nn.LSTM(7, 6, num_layers=2, proj_size=3),
    "lstm_projection_both": lambda: nn.LSTM(7, 6, num_layers=2, proj_size=3, bidirectional=True),
    "lstm_without_bias": lambda: nn.LSTM(7, 6, bias=False),
    "gru_without_bias": lambda: nn.GRU(7, 6, bias=False),
}
CELLS = {"lstm_cell": lambda: nn.LSTMCell(7, 6), "gru_cell": lambda: nn.GRUCell(7, 6), "rnn_cell": lambda: nn.RNNCell(7, 6)}


class Step(nn.Module):
    """A module of our own, of one step: its state goes in and comes out."""

    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.GRUCell(7, 16), nn.Linear(16, 3)

    def forward(self, x, h):
        after = self.cell(torch.tanh(x), h)
        return torch.softmax(self.head(after), dim=1), after


class Sequence(nn.Module):
    """A module of our own, over a whole sequence and what kind each of its steps is of."""

    def __init__(self):
        super().__init__()
        self.conv, self.kinds = nn.Conv1d(7, 6, 3, padding=1), nn.Embedding(4, 6)
        self.layer, self.head = nn.GRU(6, 8, bidirectional=True), nn.MultiheadAttention(16, 2)

    def forward(self, x, kinds):
        rows = torch.relu(self.conv(x)).permute(2, 0, 1) + self.kinds(kinds).unsqueeze(1)
        y, _ = self.layer(rows)
        return self.head(y, y, y)[0].squeeze(1)


class Exported(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.manual_seed(5)
        cls.folder = tempfile.TemporaryDirectory()
        models = pathlib.Path(cls.folder.name) / "models"
        cls.layers = {name: make().eval() for name, make in LAYERS.items()}
        for name, layer in cls.layers.items():
            export(layer, models / name)
        cls.projected = nn.LSTM(7, 6, num_layers=3, proj_size=4, bidirectional=True).eval()
        export_state("lstm", {name: tensor.numpy() for name, tensor in cls.projected.state_dict().items()}, models / "state_dict")
        cls.cells = {name: make().eval() for name, make in CELLS.items()}
        for name, cell in cls.cells.items():
            export(cell, models / name)
        cls.head, cls.below_head = nn.Linear(12, 5), nn.GRU(7, 6, bidirectional=True).eval()
        export(cls.below_head, models / "head", output=cls.head)
        cls.table = nn.Embedding(11, 7)
        cls.ids = nn.LSTM(7, 6, num_layers=2).eval()
        export(cls.ids, models / "ids", embedding=cls.table, every_step=False)
        cls.step, cls.reads_onnx = Step().train(), True
        example = (torch.zeros(1, 7), torch.zeros(1, 16))
        try:
            export_step(cls.step, example, models / "step", inputs=["x", "h"], outputs=["y", "hn"], volvox=VOLVOX)
        except RuntimeError as error:
            if "reads no ONNX" not in str(error):
                raise
            cls.reads_onnx = False
        if cls.reads_onnx:
            cls.sequence, given = Sequence(), (torch.zeros(1, 7, 5), torch.zeros(5, dtype=torch.int64))
            export_sequence(
                cls.sequence, given, models / "sequence", inputs=["x", "kinds"], outputs=["y"], steps={"x": 2, "kinds": 0}, volvox=VOLVOX
            )
        cls.stayed, _ = cls.step.training and cls.step.cell.training, cls.step.eval()
        cls.server = served.Server(VOLVOX, cls.folder.name, [])
        cls.client = Client(cls.server.endpoint, timeout=served.PATIENCE)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.process.terminate()
        cls.server.process.wait()
        cls.folder.cleanup()

    @staticmethod
    def wanted(layer, rows):
        with torch.no_grad():
            y, _ = layer(torch.tensor(rows)[None] if layer.batch_first else torch.tensor(rows)[:, None])
        return y.numpy().reshape(len(rows), -1)

    def check_ragged(self, name, layer):
        """Sequences of many lengths under way at once, against PyTorch's packed ones."""
        lengths = (17, 9, 5, 2, 1)
        rows = [np.random.default_rng(length).normal(size=(length, 7)).astype(np.float32) for length in lengths]
        waiting = [self.client.submit(name, {"x": one}) for one in rows]
        with torch.no_grad():
            packed, _ = layer(nn.utils.rnn.pack_sequence([torch.tensor(one) for one in rows]))
            wanted, _ = nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
        outputs = ["h", "h_back"] if layer.bidirectional else ["h"]
        for answer, length, one in zip(waiting, lengths, wanted.numpy()):
            reply = answer.result(served.PATIENCE)
            got = np.concatenate([np.asarray(reply[output]) for output in outputs], axis=1)
            np.testing.assert_allclose(got, one[:length], atol=1e-5)

    def test_a_module_goes_on_in_the_mode_that_it_was_in(self):
        self.assertTrue(self.stayed)

    def test_only_a_model_is_overwritten(self):
        with tempfile.TemporaryDirectory() as folder:
            kept = pathlib.Path(folder) / "kept"
            kept.write_text("of mine", encoding="utf-8")
            with self.assertRaises(FileExistsError):
                export(nn.LSTM(7, 6), folder, overwrite=True)
            self.assertEqual(kept.read_text(encoding="utf-8"), "of mine")
            model = pathlib.Path(folder) / "m"
            export(nn.LSTM(7, 6), model)
            export(nn.LSTM(7, 5), model, overwrite=True)
            self.assertEqual(sorted(path.name for path in pathlib.Path(folder).iterdir()), ["kept", "m"])

    def test_a_module_over_a_whole_sequence_is_pytorchs(self):
        if not self.reads_onnx:
            self.skipTest("the build has no ONNX")
        rng = np.random.default_rng(3)
        for length in (1, 2, 19):
            rows, kinds = rng.normal(size=(length, 7)).astype(np.float32), rng.integers(4, size=length).astype(np.int32)
            with torch.no_grad():
                wanted = self.sequence.eval()(torch.tensor(rows.T[None].copy()), torch.tensor(kinds, dtype=torch.int64))
            reply = self.client.infer("sequence", {"x": rows, "kinds": kinds})
            np.testing.assert_allclose(np.asarray(reply["y"]), wanted.numpy(), atol=1e-5)

    def test_every_step_is_pytorchs(self):
        for name, layer in self.layers.items():
            with self.subTest(layer=name):
                self.check_ragged(name, layer)

    def test_weights_by_name_are_the_module(self):
        self.check_ragged("state_dict", self.projected)

    def test_cells_are_pytorchs(self):
        rows = np.random.default_rng(4).normal(size=(5, 7)).astype(np.float32)
        for name, cell in self.cells.items():
            state, wanted = None, []
            with torch.no_grad():
                for row in rows:
                    state = cell(torch.tensor(row)[None], state)
                    wanted.append((state[0] if isinstance(state, tuple) else state)[0].numpy())
            with self.subTest(cell=name):
                np.testing.assert_allclose(self.client.infer(name, {"x": rows})["h"], wanted, atol=1e-5)

    def test_a_linear_layer_stands_above(self):
        rows = np.random.default_rng(3).normal(size=(9, 7)).astype(np.float32)
        with torch.no_grad():
            wanted = self.head(torch.tensor(self.wanted(self.below_head, rows))).numpy()
        np.testing.assert_allclose(self.client.infer("head", {"x": rows})["y"], wanted, atol=1e-5)

    def test_ids_are_looked_up_and_the_last_step_answers(self):
        ids = [3, 10, 0, 7]
        rows = self.table.weight.detach().numpy()[ids]
        got = np.ravel(self.client.infer("ids", {"x": ids})["h"])
        np.testing.assert_allclose(got, self.wanted(self.ids, rows)[-1], atol=1e-5)

    def test_parts_of_a_session_are_one_pass(self):
        rows = np.random.default_rng(1).normal(size=(9, 7)).astype(np.float32)
        first = self.client.infer("gru_2_forth", {"x": rows[:4]}, session=SessionToken.begin())
        second = self.client.infer("gru_2_forth", {"x": rows[4:]}, session=first.session.next(end=True))
        got = np.concatenate([first["h"], second["h"]])
        np.testing.assert_allclose(got, self.wanted(self.layers["gru_2_forth"], rows), atol=1e-5)

    def test_any_step_goes_by_way_of_onnx(self):
        if not self.reads_onnx:
            self.skipTest("the build has no ONNX")
        rows = np.random.default_rng(2).normal(size=(6, 7)).astype(np.float32)
        wanted, h = [], torch.zeros(1, 16)
        with torch.no_grad():
            for row in rows:
                y, h = self.step(torch.tensor(row)[None], h)
                wanted.append(y.numpy()[0])
        first = self.client.infer("step", {"x": rows[:2]}, session=SessionToken.begin())
        second = self.client.infer("step", {"x": rows[2:]}, session=first.session.next(end=True))
        np.testing.assert_allclose(np.concatenate([first["y"], second["y"]]), wanted, atol=1e-5)

    def test_says_what_it_cannot(self):
        with self.assertRaisesRegex(TypeError, "Linear is none of"):
            export(nn.Linear(2, 2), "nowhere")
        with self.assertRaisesRegex(ValueError, "max_norm"):
            export(nn.GRU(7, 4), "nowhere", embedding=nn.Embedding(9, 7, max_norm=1.0))
        with self.assertRaisesRegex(ValueError, "rows of 5, the module reads 7"):
            export(nn.LSTM(7, 6), "nowhere", embedding=nn.Embedding(3, 5))
        with self.assertRaises(FileExistsError):
            export(nn.LSTM(7, 6), pathlib.Path(self.folder.name) / "models" / "ids")


if __name__ == "__main__":
    unittest.main()
