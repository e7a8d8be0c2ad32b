#!/usr/bin/env python3
"""Recurrent layers as ONNX, imported and served: onnx_conformance_test.py VOLVOX [--keep FOLDER].

ONNX's own cases (Debian: libonnx-testdata): their weights are inputs of the graph, which a model has as constants, so they are
made so first. Each passes, or is refused with the reason that stands in REFUSED. And layers of every option, by onnx_layers.py;
with --keep, these stay in FOLDER with their inputs and what was served, for a comparison with ONNX Runtime. Skips without
python3-onnx, or in a build that has no ONNX.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "protocol" / "python"), str(ROOT / "tests")]

import served  # noqa: E402
from volvox_client import Client  # noqa: E402

try:
    import numpy as np
    import onnx
    import onnx.numpy_helper
except ImportError:
    print("onnx_conformance_test: no python3-onnx here, skipped")
    sys.exit(77)

import onnx_layers  # noqa: E402  (it needs onnx)

KEEP = pathlib.Path(sys.argv.pop(sys.argv.index("--keep") + 1)) if "--keep" in sys.argv else None
sys.argv[:] = [argument for argument in sys.argv if argument != "--keep"]
VOLVOX = sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/volvox"
CASES = pathlib.Path("/usr/share/libonnx-testdata/data/node")
LAYERS = ("test_lstm_", "test_gru_", "test_rnn_", "test_simple_rnn_")
# Each goes along the steps of x; `initial` is a constant.
SCANS = ("test_scan_sum", "test_scan9_sum")
# These loop over numbers of their own, and make lists: nothing of a request is their sequence.
REFUSED = {
    "test_loop11": "input 'cond' is neither of floats nor of whole numbers",
    "test_loop13_seq": "input 'cond' is neither of floats nor of whole numbers",
    "test_loop16_seq_none": "input 'cond' is neither of floats nor of whole numbers",
}


def tensors(case, kind):
    files = sorted((CASES / case / "test_data_set_0").glob(f"{kind}_*.pb"))
    return [onnx.numpy_helper.to_array(onnx.TensorProto.FromString(file.read_bytes())) for file in files]


def with_weights_inside(case, given=None):
    """The model, with all inputs but the given one (the first) as constants; what that is; what comes out, by name."""
    model, inputs = onnx.load(CASES / case / "model.onnx"), tensors(case, "input")
    given = given or model.graph.input[0].name
    arrays = {input.name: array for input, array in zip(model.graph.input, inputs)}
    for name, array in arrays.items():
        if name != given:
            model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    outputs = dict(zip((output.name for output in model.graph.output), tensors(case, "output")))
    return model.SerializeToString(), given, arrays[given], outputs


class Conformance(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def imported(self, case, onnx_bytes):
        file = self.folder / f"{case}.onnx"
        file.write_bytes(onnx_bytes)
        command = [VOLVOX, "import", file, "--into", self.folder / "models", "--no-states"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if "reads no ONNX" in done.stderr:
            self.skipTest("the build has no ONNX")
        return done

    def served(self):
        server = served.Server(VOLVOX, self.folder, [])
        self.addCleanup(server.kill)
        client = Client(server.endpoint, timeout=served.PATIENCE, connect_timeout=served.PATIENCE)
        self.addCleanup(client.close)
        return client

    def test_layers_of_every_option_are_as_onnx_says(self):
        layers = onnx_layers.layers()
        for name, layer in layers.items():
            done = self.imported(name, layer.graph())
            self.assertEqual(done.returncode, 0, f"{name}: {done.stderr}")
        client = self.served()
        for name, layer in layers.items():
            with self.subTest(layer=name):
                x = layer.x if layer.batch_first else layer.x[:, None]
                reply = client.infer(name, {"X": x[None]})
                if KEEP:
                    KEEP.mkdir(exist_ok=True)
                    (KEEP / f"{name}.onnx").write_bytes(layer.graph())
                    kept = {"x": layer.x.tolist(), "dims": [1, *x.shape] if layer.batch_first else x.shape}
                    kept["served"] = {output: np.ravel(reply[output]).tolist() for output in layer.answers()}
                    (KEEP / f"{name}.json").write_text(json.dumps(kept))
                for output, wanted in layer.answers().items():
                    np.testing.assert_allclose(np.ravel(reply[output]), np.ravel(wanted), atol=1e-5, err_msg=output)

    @unittest.skipUnless(CASES.is_dir(), "no libonnx-testdata here")
    def test_layers_pass(self):
        cases = [path.name for path in sorted(CASES.iterdir()) if path.name.startswith(LAYERS)]
        self.assertGreaterEqual(len(cases), 12)
        wanted = {}
        for case in cases:
            model, name, rows, outputs = with_weights_inside(case)
            done = self.imported(case, model)
            self.assertEqual(done.returncode, 0, done.stderr)
            wanted[case] = (name, rows, outputs)
        client = self.served()
        for case, (name, rows, outputs) in wanted.items():
            with self.subTest(case=case):
                row = rows if rows.shape[0] != 1 else rows[0]  # what stands for the batch is no axis of a row
                reply = client.infer(case, {name: row[None]})
                for output, array in outputs.items():
                    np.testing.assert_allclose(np.ravel(reply[output]), np.ravel(array), atol=1e-6)

    @unittest.skipUnless(CASES.is_dir(), "no libonnx-testdata here")
    def test_scans_pass(self):
        wanted = {}
        for case in SCANS:
            model, name, rows, outputs = with_weights_inside(case, "x")
            done = self.imported(case, model)
            self.assertEqual(done.returncode, 0, done.stderr)
            wanted[case] = (name, rows.reshape(-1, rows.shape[-1]), outputs)
        client = self.served()
        for case, (name, rows, outputs) in wanted.items():
            with self.subTest(case=case):
                reply = client.infer(case, {name: rows})
                for output, array in outputs.items():
                    np.testing.assert_allclose(np.ravel(reply[output]), np.ravel(array), atol=1e-6)

    @unittest.skipUnless(CASES.is_dir(), "no libonnx-testdata here")
    def test_loops_are_refused_by_name(self):
        for case, why in REFUSED.items():
            if (CASES / case).is_dir():
                done = self.imported(case, (CASES / case / "model.onnx").read_bytes())
                self.assertEqual(done.returncode, 1, case)
                self.assertIn(why, done.stderr)


if __name__ == "__main__":
    unittest.main()
