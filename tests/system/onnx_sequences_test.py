#!/usr/bin/env python3
"""Sequence models of PyTorch, exported as ONNX with an open length, imported as lanes and served, against PyTorch itself:
onnx_sequences_test.py VOLVOX. Skips without PyTorch or python3-onnx, or in a build that has no ONNX."""

import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "protocol" / "python"), str(ROOT / "tests")]

import served  # noqa: E402
from volvox_client import Client, SessionToken  # noqa: E402

try:
    import numpy as np
    import onnx  # noqa: F401  (torch.onnx writes with it)
    import torch
    from torch import nn
except ImportError:
    print("onnx_sequences_test: no PyTorch or python3-onnx here, skipped")
    sys.exit(77)

VOLVOX = sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/volvox"
LENGTHS = (300, 1, 17, 2)
WIDTH, WORDS = 5, 23
warnings.filterwarnings("ignore")


class Layer(nn.Module):
    """A recurrent layer, its rows and its last states: as PyTorch returns them."""

    def __init__(self, kind, **options):
        super().__init__()
        self.layer = kind(WIDTH, 6, **options)

    def forward(self, x):
        y, after = self.layer(x)
        return (y, *after) if isinstance(after, tuple) else (y, after)


class Tagger(nn.Module):
    """Ids, an embedding, layers in both directions, a label for every step."""

    def __init__(self, kind=nn.GRU, batch_first=False, layers=2):
        super().__init__()
        self.table = nn.Embedding(WORDS, WIDTH)
        self.layer = kind(WIDTH, 4, num_layers=layers, bidirectional=True, batch_first=batch_first)
        self.out = nn.Linear(8, 3)

    def forward(self, ids):
        return torch.log_softmax(self.out(self.layer(self.table(ids))[0]), dim=-1)


class Classifier(nn.Module):
    """One answer for the whole sequence: of the last row, or of the last state."""

    def __init__(self, of_state, both=False):
        super().__init__()
        self.layer = nn.LSTM(WIDTH, 6, num_layers=2, batch_first=True, bidirectional=both)
        self.out, self.of_state = nn.Linear(12 if both else 6, 3), of_state

    def forward(self, x):
        y, (h, _) = self.layer(x)
        return self.out(torch.tanh(h[-1] if self.of_state else y[:, -1]))


class Around(nn.Module):
    """Linear layers, normalisation and residuals around and between recurrent layers."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Linear(WIDTH, 6), nn.LayerNorm(6)
        self.forth, self.both = nn.GRU(6, 6), nn.LSTM(6, 3, bidirectional=True)
        self.last = nn.Linear(12, 4)

    def forward(self, x):
        x = torch.relu(self.first(x))
        y = self.norm(self.forth(x)[0] + x)
        z = self.both(y)[0] + y
        return self.last(torch.cat([z, torch.sigmoid(x)], dim=-1))


class Ends(nn.Module):
    """The last states of both directions, and the first and the last row."""

    def __init__(self):
        super().__init__()
        self.layer, self.out = nn.GRU(WIDTH, 4, bidirectional=True), nn.Linear(8, 2)

    def forward(self, x):
        y, h = self.layer(x)
        return self.out(torch.cat([h[-2], h[-1]], dim=1)), self.out(y)[0], self.out(y)[-1] + x[-1, :, :2], y


class Pooled(nn.Module):
    """One answer for the whole sequence: of the mean and the largest of all rows."""

    def __init__(self):
        super().__init__()
        self.layer, self.out = nn.LSTM(WIDTH, 4, bidirectional=True), nn.Linear(16, 3)

    def forward(self, x):
        y, _ = self.layer(x)
        return self.out(torch.cat([y.mean(dim=0), y.amax(dim=0)], dim=1))


class Several(nn.Module):
    """Three inputs of one sequence, all read by one layer."""

    def __init__(self):
        super().__init__()
        self.words, self.tags = nn.Embedding(WORDS, 4), nn.Embedding(WORDS, 3)
        self.layer, self.out = nn.LSTM(7 + WIDTH, 6), nn.Linear(6, 2)

    def forward(self, words, tags, x):
        return self.out(self.layer(torch.cat([self.words(words), self.tags(tags), x], dim=-1))[0])


class Joined(nn.Module):
    """All layers' rows together, which is more than one cell can read; for every step, and of the ends."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.LSTM(WIDTH, 4), nn.GRU(4, 3, bidirectional=True)
        self.c, self.d, self.norm = nn.RNN(6, 2), nn.LSTM(2, 3), nn.LayerNorm(3)

    def forward(self, x):
        a = self.a(x)[0]
        b = self.b(a)[0]
        c = self.c(b)[0]
        y = torch.cat([x, a, b, c, self.norm(self.d(c)[0])], dim=-1)
        return y, y[-1] * y.mean(dim=0) + x[0].sum()


class Turned(nn.Module):
    """Both directions by hand; and the row with which the one that is turned around ends."""

    def __init__(self):
        super().__init__()
        self.forth, self.back = nn.LSTM(WIDTH, 3), nn.LSTM(WIDTH, 3)

    def forward(self, x):
        back = self.back(torch.tanh(x.flip(0)))[0]
        return torch.cat([self.forth(x)[0], back.flip(0)], dim=-1), back[-1], back[0]


class Handed(nn.Module):
    """A second layer that begins with what the first has ended with, and a trained state at the beginning."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LSTM(WIDTH, 6), nn.LSTM(WIDTH, 6)
        self.h, self.c = nn.Parameter(torch.randn(1, 1, 6)), nn.Parameter(torch.full((1, 1, 6), 0.5))

    def forward(self, x):
        _, after = self.first(x, (self.h, self.c))
        return self.second(x, after)[0]


class Lengths(nn.Module):
    """Padded sequences, packed by their lengths, which may be sorted first."""

    def __init__(self, is_sorted):
        super().__init__()
        self.layer, self.is_sorted = nn.GRU(WIDTH, 6, bidirectional=True), is_sorted

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=self.is_sorted)
        return nn.utils.rnn.pad_packed_sequence(self.layer(packed)[0])[0]


class Looped(nn.Module):
    """A loop of its own over a cell of its own; the state at the end."""

    def __init__(self):
        super().__init__()
        self.read, self.keep = nn.Linear(WIDTH, 6), nn.Linear(6, 6)

    def forward(self, x):
        h = torch.zeros(1, 6)
        for step in range(x.size(0)):
            h = torch.tanh(self.read(x[step]) + self.keep(h))
        return h


class Steps(nn.Module):
    """A convolution over each step's picture, and a recurrent layer over the steps."""

    def __init__(self):
        super().__init__()
        self.windows, self.norm, self.layer = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.RNN(12, 4)

    def forward(self, x):
        pictures = torch.relu(self.norm(self.windows(x.unsqueeze(1))))
        return self.layer(pictures.flatten(1).unsqueeze(1))[0].squeeze(1)


class Dilated(nn.Module):
    """Convolutions that look back only, each further than the one before; what they look ahead is cut off."""

    def __init__(self):
        super().__init__()
        self.first, self.gaps = nn.Conv1d(WIDTH, 6, 1), (1, 2, 4)
        self.convs = nn.ModuleList([nn.Conv1d(6, 6, 3, dilation=gap, padding=2 * gap) for gap in self.gaps])

    def forward(self, x):
        x = self.first(x.transpose(1, 2))
        for conv, gap in zip(self.convs, self.gaps):
            x = x + torch.relu(conv(x)[:, :, : -2 * gap])
        return x.transpose(1, 2)


class Texts(nn.Module):
    """Windows of several widths over a text, of each the largest."""

    def __init__(self):
        super().__init__()
        self.table, self.out = nn.Embedding(WORDS, 6), nn.Linear(12, 3)
        self.convs = nn.ModuleList([nn.Conv1d(6, 4, width, padding=width // 2) for width in (3, 5, 7)])

    def forward(self, ids):
        x = self.table(ids).transpose(1, 2)
        return self.out(torch.cat([torch.relu(conv(x)).amax(dim=2) for conv in self.convs], dim=1))


class Attentive(nn.Module):
    """A convolution, a layer in both directions, and the mean of its rows by weights that are learned."""

    def __init__(self):
        super().__init__()
        self.conv, self.layer = nn.Conv1d(WIDTH, 6, 5, padding=2), nn.LSTM(6, 4, bidirectional=True, batch_first=True)
        self.worth, self.out = nn.Linear(8, 1), nn.Linear(8, 3)

    def forward(self, x):
        y, _ = self.layer(torch.relu(self.conv(x.transpose(1, 2))).transpose(1, 2))
        return self.out((torch.softmax(self.worth(torch.tanh(y)), dim=1) * y).sum(dim=1))


class Asking(nn.Module):
    """A layer of a transformer, over words that know their places."""

    def __init__(self):
        super().__init__()
        self.table, self.places = nn.Embedding(WORDS, 8), nn.Embedding(300, 8)
        self.block, self.out = nn.TransformerEncoderLayer(8, 2, 12, batch_first=True), nn.Linear(8, 3)

    def forward(self, ids):
        return self.out(self.block(self.table(ids) + self.places(torch.arange(ids.size(1)).unsqueeze(0))))


class Speech(nn.Module):
    """Convolutions that leave out every other row and pool, before layers in both directions: a step has four rows."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(1, 3, (5, 3), stride=(2, 2), padding=(2, 1)), nn.BatchNorm2d(3)
        self.second, self.pool = nn.Conv2d(3, 2, 3, padding=1), nn.MaxPool2d((2, 1))
        self.layer, self.out = nn.GRU(6, 4, bidirectional=True, batch_first=True), nn.Linear(8, 5)

    def forward(self, x):
        made = torch.relu(self.norm(self.first(x.unsqueeze(1))))
        made = self.pool(torch.relu(self.second(made))).transpose(1, 2).flatten(2)
        return torch.log_softmax(self.out(self.layer(made)[0]), dim=-1)


class Unpadded(nn.Module):
    """Convolutions without pads before layers in both directions: a step has four rows, and the last one no label."""

    def __init__(self):
        super().__init__()
        self.conv, self.layer = nn.Conv1d(WIDTH, 6, 3, stride=2), nn.LSTM(6, 4, bidirectional=True, batch_first=True)
        self.out = nn.Linear(8, 5)

    def forward(self, x):
        made = torch.max_pool1d(torch.relu(self.conv(x.transpose(1, 2))), 2).transpose(1, 2)
        return torch.log_softmax(self.out(self.layer(made)[0]), dim=-1)


class Windows(nn.Module):
    """Windows of several widths over a text, none of which goes beyond its ends."""

    def __init__(self):
        super().__init__()
        self.table, self.out = nn.Embedding(WORDS, 6), nn.Linear(12, 3)
        self.convs = nn.ModuleList([nn.Conv1d(6, 4, width) for width in (3, 4, 5)])

    def forward(self, ids):
        x = self.table(ids).transpose(1, 2)
        return self.out(torch.cat([torch.relu(conv(x)).amax(dim=2) for conv in self.convs], dim=1))


TIME_FIRST, BATCH_FIRST = {0: "steps", 1: "batch"}, {0: "batch", 1: "steps"}
# By name: the module, the axes, the outputs, and what a step is.
MODELS = {
    **{
        f"{kind.__name__.lower()}_{layers}_{'both' if both else 'forth'}": (
            lambda kind=kind, layers=layers, both=both: Layer(kind, num_layers=layers, bidirectional=both),
            TIME_FIRST,
            ["y"],
            "rows",
        )
        for kind in (nn.LSTM, nn.GRU, nn.RNN)
        for layers in (1, 2, 3)
        for both in (False, True)
    },
    "lstm_states": (lambda: Layer(nn.LSTM), TIME_FIRST, ["y", "h", "c"], "rows"),
    "lstm_states_deep": (lambda: Layer(nn.LSTM, num_layers=3, bidirectional=True), TIME_FIRST, ["y", "h", "c"], "rows"),
    "rnn_relu": (lambda: Layer(nn.RNN, nonlinearity="relu", batch_first=True), BATCH_FIRST, ["y"], "rows"),
    "tagger": (Tagger, TIME_FIRST, ["y"], "ids"),
    "tagger_batch_first": (lambda: Tagger(nn.LSTM, batch_first=True, layers=1), BATCH_FIRST, ["y"], "ids"),
    "last_row": (lambda: Classifier(False), BATCH_FIRST, ["y"], "rows"),
    "last_row_both": (lambda: Classifier(False, both=True), BATCH_FIRST, ["y"], "rows"),
    "last_state": (lambda: Classifier(True), BATCH_FIRST, ["y"], "rows"),
    "around": (Around, TIME_FIRST, ["y"], "rows"),
    "ends": (Ends, TIME_FIRST, ["h", "first", "last", "y"], "rows"),
    "several": (Several, TIME_FIRST, ["y"], "several"),
    "joined": (Joined, TIME_FIRST, ["y", "end"], "rows"),
    "turned": (Turned, TIME_FIRST, ["y", "end", "begin"], "rows"),
    "pooled": (Pooled, TIME_FIRST, ["y"], "rows"),
    "handed": (Handed, TIME_FIRST, ["y"], "rows"),
    "lengths": (lambda: Lengths(True), TIME_FIRST, ["y"], "lengths"),
    "lengths_in_any_order": (lambda: Lengths(False), TIME_FIRST, ["y"], "lengths"),
    "loop": (lambda: torch.jit.script(Looped()), TIME_FIRST, ["y"], "rows"),
    "steps": (Steps, {0: "steps"}, ["y"], "pictures"),
    "dilated": (Dilated, BATCH_FIRST, ["y"], "rows"),
    "texts": (Texts, BATCH_FIRST, ["y"], "ids"),
    "attentive": (Attentive, BATCH_FIRST, ["y"], "rows"),
    "asking": (Asking, BATCH_FIRST, ["y"], "ids"),
    "speech": (Speech, BATCH_FIRST, ["y"], "fours"),
    "unpadded": (Unpadded, BATCH_FIRST, ["y"], "fours"),
    "windows": (Windows, BATCH_FIRST, ["y"], "ids"),
}
SHORTEST = {"unpadded": 2, "windows": 5}  # steps of a request


def drawn(kind, length, seed=0):
    """What a request brings: rows by input."""
    rng = np.random.default_rng([seed, length])

    def ids():
        return rng.integers(WORDS, size=length).astype(np.int32)

    if kind == "ids":
        return {"x": ids()}
    shapes = {"pictures": (length, 5, 4), "fours": (length, 4, WIDTH)}
    x = rng.normal(size=shapes.get(kind, (length, WIDTH))).astype(np.float32)
    return {"words": ids(), "tags": ids(), "x": x} if kind == "several" else {"x": x}


def arguments(axes, kind, rows):
    """What a module is called with, by name: a batch of 1."""
    made = {name: torch.tensor(one.astype(np.int64) if one.dtype == np.int32 else one) for name, one in rows.items()}
    if kind == "fours":
        made = {name: one.reshape(-1, WIDTH) for name, one in made.items()}
    if len(axes) == 2:
        made = {name: one.unsqueeze(1 if axes[0] == "steps" else 0) for name, one in made.items()}
    return made | {"lengths": torch.tensor([len(rows["x"])])} if kind == "lengths" else made


class Sequences(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.manual_seed(3)
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.modules = {}
        for name, (make, axes, outputs, kind) in MODELS.items():
            module = cls.modules[name] = make().eval()
            cls.export(name, module, axes, outputs, kind)
            done = cls.imported(name)
            if "reads no ONNX" in done.stderr:
                raise unittest.SkipTest("the build has no ONNX")
            if done.returncode != 0:
                raise AssertionError(done.stderr)
        server = served.Server(VOLVOX, cls.folder, [])
        cls.addClassCleanup(server.kill)
        cls.client = Client(server.endpoint, timeout=served.PATIENCE, connect_timeout=served.PATIENCE)
        cls.addClassCleanup(cls.client.close)

    @classmethod
    def export(cls, name, module, axes, outputs, kind):
        given = arguments(axes, kind, drawn(kind, 6))
        open_axes = {name: {0: "batch"} if name == "lengths" else axes for name in given}
        file = cls.folder / f"{name}.onnx"
        torch.onnx.export(
            module, tuple(given.values()), file, input_names=list(given), output_names=outputs, opset_version=17, dynamic_axes=open_axes
        )

    @classmethod
    def imported(cls, name, *options):
        command = [VOLVOX, "import", cls.folder / f"{name}.onnx", "--into", cls.folder / "models", *options]
        if name in MODELS:
            command += [part for output in MODELS[name][2] for part in ("--output", output)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def wanted(self, name, rows):
        _, axes, outputs, kind = MODELS[name]
        with torch.no_grad():
            made = self.modules[name](*arguments(axes, kind, rows).values())
        made = made if isinstance(made, tuple) else (made,)
        return {output: one.numpy() for output, one in zip(outputs, made)}

    def test_answers_are_pytorchs(self):
        for name, (_, _, outputs, kind) in MODELS.items():
            with self.subTest(model=name):
                rows = {length: drawn(kind, length) for length in LENGTHS if length >= SHORTEST.get(name, 1)}
                waiting = {length: self.client.submit(name, one) for length, one in rows.items()}
                for length, answer in waiting.items():
                    reply, wanted = answer.result(served.PATIENCE), self.wanted(name, rows[length])
                    for output in outputs:
                        got = np.asarray(reply[output])
                        np.testing.assert_allclose(np.ravel(got), np.ravel(wanted[output]), atol=1e-5, err_msg=f"{length} {output}")

    def test_requests_that_are_too_short_are_refused(self):
        for name, least in SHORTEST.items():
            with self.assertRaisesRegex(Exception, f"must be between {least} and"):
                self.client.infer(name, drawn(MODELS[name][3], least - 1))
            self.client.infer(name, drawn(MODELS[name][3], least))

    def test_rows_that_there_are_come_as_a_stream(self):
        rows, parts = drawn("fours", 9), []
        self.client.submit("unpadded", rows, on_partial=lambda part: parts.append(part["y"])).result(served.PATIENCE)
        wanted = self.wanted("unpadded", rows)["y"]
        np.testing.assert_allclose(np.concatenate(parts), wanted.reshape(8, -1), atol=1e-5)

    def test_one_direction_runs_in_sessions(self):
        for name in ("lstm_2_forth", "gru_1_forth", "dilated"):
            rows = drawn("rows", 17)["x"]
            first = self.client.infer(name, {"x": rows[:4]}, session=SessionToken.begin())
            second = self.client.infer(name, {"x": rows[4:]}, session=first.session.next(end=True))
            got = np.concatenate([first["y"], second["y"]])
            np.testing.assert_allclose(got, self.wanted(name, {"x": rows})["y"].reshape(17, -1), atol=1e-5)


if __name__ == "__main__":
    unittest.main()
