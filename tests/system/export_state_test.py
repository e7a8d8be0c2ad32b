"""`volvox.export_state`: recurrent modules by PyTorch's names, served, against a replica of their arithmetic in numpy.

Usage: export_state_test.py VOLVOX [unittest's options]      VOLVOX: the executable
"""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
for place in ("protocol/python", "tests"):
    sys.path.insert(0, str(ROOT / place))

import volvox  # noqa: E402
from served import PATIENCE, Server  # noqa: E402
from volvox.model import safetensors  # noqa: E402

VOLVOX = "volvox"
STEPS, TOLERANCE = 13, 1e-5
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def weights_of(kind, width, hidden, layers=1, directions=1, projected=0, bias=True, seed=1):
    """Random weights by PyTorch's names."""
    random = numpy.random.default_rng(seed)
    state, rows, out = {}, GATES[kind] * hidden, projected or hidden
    for layer in range(layers):
        for way in ("", "_reverse")[:directions]:
            shapes = {"weight_ih": (rows, width if layer == 0 else out * directions), "weight_hh": (rows, out)}
            if projected:
                shapes["weight_hr"] = (out, hidden)
            if bias:
                shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
            for name, shape in shapes.items():
                state[f"{name}_l{layer}{way}"] = random.uniform(-0.5, 0.5, shape).astype("f4")
    return state


def step(kind, layer, x, h, c):
    """PyTorch's documented formulas, in double precision."""
    of_x, of_h = layer["weight_ih"] @ x, layer["weight_hh"] @ h
    if "bias_ih" in layer:
        of_x, of_h = of_x + layer["bias_ih"], of_h + layer["bias_hh"]
    if kind == "lstm":
        i, f, g, o = numpy.split(of_x + of_h, 4)
        c = sigmoid(f) * c + sigmoid(i) * numpy.tanh(g)
        h = sigmoid(o) * numpy.tanh(c)
        return (layer["weight_hr"] @ h if "weight_hr" in layer else h), c
    if kind == "gru":
        (xr, xz, xn), (hr, hz, hn) = numpy.split(of_x, 3), numpy.split(of_h, 3)
        r, z = sigmoid(xr + hr), sigmoid(xz + hz)
        n = numpy.tanh(xn + r * hn)
        return (1 - z) * n + z * h, c
    return (numpy.tanh(of_x + of_h) if kind == "rnn_tanh" else numpy.maximum(of_x + of_h, 0)), c


def replica(kind, state, inputs):
    """[direction][step] of the topmost layer."""
    layers = {}
    for name, array in state.items():
        part, place = name.rsplit("_l", 1)
        layers.setdefault(place, {})[part] = array.astype("f8")
    below = numpy.asarray(inputs, "f8")
    for layer in range(len({place.split("_")[0] for place in layers})):
        made = []
        for way in ("", "_reverse"):
            weights = layers.get(f"{layer}{way}")
            if weights is None:
                continue
            out = weights["weight_hr"] if "weight_hr" in weights else weights["weight_hh"].T
            h, c, rows = numpy.zeros(len(out)), numpy.zeros(len(weights["weight_hh"]) // GATES[kind]), []
            for x in below[::-1] if way else below:
                h, c = step(kind, weights, x, h, c)
                rows.append(h)
            made.append(numpy.array(rows[::-1] if way else rows))
        below = numpy.concatenate(made, axis=1)
    return made


def distance(a, b):
    return numpy.max(numpy.abs(a - b)) / numpy.max(numpy.abs(b))


class Exported(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.models = self.folder / "models"
        self.random = numpy.random.default_rng(7)

    def serve(self):
        server = Server(VOLVOX, self.folder, [])
        self.addCleanup(server.kill)
        client = volvox.Client(server.endpoint, timeout=PATIENCE, connect_timeout=PATIENCE)
        self.addCleanup(client.close)
        return client

    def answer(self, client, model, inputs):
        reply = client.infer(model, inputs)
        return {name: numpy.array(reply[name].tolist()) for name in reply.tensors}

    def test_every_kind_of_module_answers_as_pytorch_documents_it(self):
        cases = {}
        for kind in GATES:
            cases[kind] = kind, {}
            cases[kind + "-both"] = kind, {"layers": 2, "directions": 2}
            cases[kind + "-deep"] = kind, {"layers": 3, "bias": False}
        cases["lstm-projected"] = "lstm", {"layers": 2, "directions": 2, "projected": 4}
        states = {name: weights_of(kind, 5, 9, **options) for name, (kind, options) in cases.items()}
        for name, (kind, _) in cases.items():
            volvox.export_state(kind, states[name], self.models / name)
        client = self.serve()
        inputs = self.random.normal(size=(STEPS, 5)).astype("f4")
        for name, (kind, _) in cases.items():
            made = self.answer(client, name, {"x": inputs})
            expected = replica(kind, states[name], inputs)
            for output, right in zip(("h", "h_back"), expected):
                with self.subTest(name=name, output=output):
                    self.assertLess(distance(made[output].reshape(right.shape), right), TOLERANCE)

    def test_tokens_go_in_and_a_linear_layer_comes_out(self):
        state = weights_of("gru", 6, 8, layers=2)
        embedding = self.random.normal(size=(20, 6)).astype("f4")
        weight, bias = self.random.normal(size=(3, 8)).astype("f4"), self.random.normal(size=3).astype("f4")
        options = {"embedding": embedding, "output": (weight, bias)}
        volvox.export_state("gru", state, self.models / "every", **options)
        volvox.export_state("gru", state, self.models / "last", every_step=False, **options)
        client = self.serve()
        tokens = [int(token) for token in self.random.integers(20, size=STEPS)]
        right = replica("gru", state, embedding[tokens])[0] @ weight.T.astype("f8") + bias
        made = self.answer(client, "every", {"x": tokens})["y"].reshape(right.shape)
        self.assertLess(distance(made, right), TOLERANCE)
        last = self.answer(client, "last", {"x": tokens})["y"].reshape(3)
        self.assertLess(distance(last, right[-1]), TOLERANCE)

    def test_a_safetensors_file_becomes_a_model_by_the_command(self):
        state = weights_of("lstm", 6, 8)
        path = self.folder / "trained.safetensors"
        tensors = {"encoder." + name: array for name, array in state.items()}
        path.write_bytes(safetensors({**tensors, "embedding.weight": self.random.normal(size=(20, 6))}))
        command = [sys.executable, "-B", "-m", "volvox", str(path), str(self.models / "m"), "--kind", "lstm", "--prefix", "encoder."]
        command += ["--embedding", "embedding.weight"]
        environment = {"PYTHONPATH": str(ROOT / "protocol/python")}
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        again = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(again.returncode, 1)
        self.assertIn("overwrite", again.stderr)
        read = volvox.read_safetensors(path)
        embedded = read["embedding.weight"][[3, 1, 4]]
        right = replica("lstm", state, embedded)[0]
        made = self.answer(self.serve(), "m", {"x": [3, 1, 4]})["h"].reshape(right.shape)
        self.assertLess(distance(made, right), TOLERANCE)

    def test_bfloat16_is_read_and_what_has_no_name_is_left_out(self):
        header = {"half": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}
        header["tiny"] = {"dtype": "F8_E4M3", "shape": [4], "data_offsets": [4, 8]}
        text = json.dumps(header).encode()
        path = self.folder / "half.safetensors"
        path.write_bytes(struct.pack("<Q", len(text)) + text + struct.pack("<HH", 0x3FC0, 0xC000) + bytes(4))
        read = volvox.read_safetensors(path)
        self.assertEqual(list(read), ["half"])
        self.assertEqual(read["half"].tolist(), [1.5, -2.0])
        command = [sys.executable, "-B", "-m", "volvox", str(path), str(self.models / "none"), "--kind", "lstm", "--prefix", "encoder."]
        environment = {"PYTHONPATH": str(ROOT / "protocol/python")}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("has no encoder.weight_ih_l0: say with --prefix", done.stderr)

    def test_what_is_no_module_is_refused_by_name(self):
        good = weights_of("lstm", 5, 8, layers=2)
        for change, message in (
            ({"weight_ih_l3": good["weight_ih_l0"]}, "missing"),
            ({"weight_ih_l9999999999": good["weight_ih_l0"]}, "missing"),
            ({"weight_hh_l1": good["weight_hh_l1"][:, :-1]}, "weight_hh"),
            ({"weight_ih_l1": good["weight_ih_l0"]}, "weight_ih"),
            ({"encoder": good["weight_ih_l0"]}, "encoder"),
            ({"bias_hh_l0": good["bias_hh_l0"] * numpy.nan}, "bias_hh_l0"),
        ):
            with self.subTest(message=message), self.assertRaisesRegex(ValueError, message):
                volvox.export_state("lstm", {**good, **change}, self.models / "bad")
        with self.assertRaisesRegex(ValueError, "no safetensors file"):
            volvox.read_safetensors(__file__)
        with self.assertRaisesRegex(ValueError, "there are lstm"):
            volvox.export_state("transformer", good, self.models / "bad")
        self.assertFalse((self.models / "bad").exists())


if __name__ == "__main__":
    VOLVOX = sys.argv.pop(1)
    unittest.main(verbosity=2)
