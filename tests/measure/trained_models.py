#!/usr/bin/env python3
"""The trained models of examples/, served, beside those who run them elsewhere: Silero VAD and DTLN in ONNX Runtime, g2p_en in numpy.

Usage: NODE_PATH=… trained_models.py BUILD MODELS SILERO [NAME…] [--words 2500]

BUILD is a build folder; MODELS has silero_test.wav, dtln_1.onnx, dtln_2.onnx and g2p_en.npz; SILERO has Silero's graphs (dist/ of npm's
@ricky0123/vad-web); NODE_PATH says where npm's onnxruntime-node is. NAME, some of
  silero   v5, v6 and legacy at 16,000 samples a second and at 8,000: every probability within 1e-5, and the same stretches of speech
  dtln     60 s of sound, within 1e-4 of the largest sample
  g2p      words from the tree's own documents, each the same
All of them without a NAME. Prints a line each; exit status 1 if one does not hold.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
for room in ("", "vad", "dtln"):
    sys.path.insert(0, str(ROOT / "examples" / room))

import dtln  # noqa: E402
import serving  # noqa: E402
import vad  # noqa: E402
from choosing import chosen  # noqa: E402


def in_onnx_runtime(folder, model, named, output, rows, options):
    """Rows of `output`, one for each of `rows`."""
    given, got = folder / "rows.f32", folder / "out.f32"
    rows.astype("<f4").tofile(given)
    script = pathlib.Path(__file__).with_name("onnx_runtime_steps.mjs")
    subprocess.run(["node", script, model, named, output, given, got, *options], check=True)
    return np.fromfile(got, dtype="<f4").reshape(len(rows), -1)


class Trained:
    def __init__(self, args, folder):
        self.args, self.folder, self.volvox = args, folder, str(args.build / "volvox")

    def _in_halves(self, wav):
        """The same sound at half the rate."""
        samples, rate = serving.read_sound(wav)
        path = self.folder / "half.wav"
        serving.write_sound(path, samples[: len(samples) // 2 * 2].reshape(-1, 2).mean(axis=1), rate // 2)
        return path

    def silero(self):
        wav = self.args.models / "silero_test.wav"
        waves = {16000: wav, 8000: self._in_halves(wav)}
        for spelling in ("v5", "v6", "legacy"):
            graph = self.args.silero / f"silero_vad_{spelling}.onnx"
            out = self.folder / "probabilities.json"
            command = [sys.executable, ROOT / "examples" / "vad" / "vad.py", "--onnx", graph, "--wav", *waves.values(), "--probabilities", out]
            subprocess.run([*command, "--volvox", self.volvox], check=True, stdout=subprocess.DEVNULL)
            served = json.loads(out.read_text())
            for rate, path in waves.items():
                yield self._compare_silero(spelling, graph, rate, path, served[str(path)])

    def _compare_silero(self, spelling, graph, rate, path, served):
        samples, _ = serving.read_sound(path)
        rows = vad.rows_of(samples, rate)
        options = ["--state", "h:hn=2,1,64", "--state", "c:cn=2,1,64"]
        if spelling != "legacy":
            before = np.concatenate([np.zeros_like(rows[:1]), rows[:-1]])
            rows = np.concatenate([before[:, -vad.CONTEXT[rate] :], rows], axis=1)
            options = ["--state", "state:stateN=2,1,128"]
        theirs = in_onnx_runtime(self.folder, graph, f"input=1,{rows.shape[1]}", "output", rows, [*options, "--int64", f"sr={rate}"])[:, 0]
        far = float(np.abs(theirs - np.array(served)).max())
        same = vad.speech(theirs, len(samples), rate) == vad.speech(served, len(samples), rate)
        said = f"{spelling}, {rate} a second: {len(served)} frames, largest difference {far:.2e}, {'the same' if same else 'OTHER'} stretches"
        return said, far <= 1e-5 and same

    def dtln(self):
        samples, _ = serving.read_sound(self.args.models / "silero_test.wav")
        graphs = [self.args.models / f"dtln_{number}.onnx" for number in (1, 2)]
        models = self.folder / "models"
        dtln.import_models(self.volvox, graphs, models)
        blocks = dtln.blocks_of(samples[: 60 * dtln.RATE])
        with serving.Serving(self.volvox, models) as served:
            ours = dtln.overlapped(dtln.Suppressor(served.client, 125).clean(blocks))
        spectra = np.fft.rfft(blocks)
        state = ["--state", "input_3:tf_op_layer_stack_2=1,2,128,2"]
        mask = in_onnx_runtime(self.folder, graphs[0], "input_2=1,1,257", "activation_2", np.abs(spectra), state)
        estimates = np.fft.irfft(spectra * mask)
        state = ["--state", "input_5:tf_op_layer_stack_5=1,2,128,2"]
        theirs = dtln.overlapped(in_onnx_runtime(self.folder, graphs[1], "input_4=1,1,512", "conv1d_3", estimates, state))
        far = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
        yield f"{len(ours) / dtln.RATE:.0f} s, largest difference {far:.1e} of the largest sample", far <= 1e-4

    def g2p(self):
        texts = " ".join(path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("docs/*.md")))
        words = sorted(set(re.findall(r"[a-z]{2,}", texts.lower())))[: self.args.words]
        command = [sys.executable, ROOT / "examples" / "g2p" / "g2p.py", "--weights", self.args.models / "g2p_en.npz", "--check"]
        done = subprocess.run([*command, "--volvox", self.volvox], input="\n".join(words), capture_output=True, text=True, check=False)
        yield done.stderr.strip(), done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("build", "models", "silero"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--words", type=int, default=2500, help="of g2p, at most")
    args = parser.parse_args()
    hold = True
    for name in chosen(parser, args.names, ("silero", "dtln", "g2p")):
        with tempfile.TemporaryDirectory() as folder:
            for said, good in getattr(Trained(args, pathlib.Path(folder)), name)():
                print(f"{name}: {said}{'' if good else '   DOES NOT HOLD'}", flush=True)
                hold = hold and good
    sys.exit(0 if hold else 1)


if __name__ == "__main__":
    main()
