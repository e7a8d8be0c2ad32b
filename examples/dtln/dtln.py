#!/usr/bin/env python3
"""Takes the noise out of speech: DTLN, two recurrent models one after the other, served.

    dtln.py --models dtln_1.onnx dtln_2.onnx NOISY.wav CLEAN.wav

The first model looks at the magnitudes of each block of 512 samples, every 128, and says how much of each frequency is speech;
the second does the same in a space that it has learned. Both keep a state from block to block: a session each. Waves have 16000
samples a second. The files are model_1.onnx and model_2.onnx of github.com/breizhn/DTLN (pretrained_model, MIT).
"""

import argparse
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import numpy as np  # noqa: E402
import serving  # noqa: E402

BLOCK, SHIFT, RATE = 512, 128, 16000


def blocks_of(samples):
    """Every SHIFT samples the last BLOCK of them; before the first there is silence."""
    count = max(1, len(samples) // SHIFT)
    padded = np.zeros(BLOCK - SHIFT + count * SHIFT, dtype=np.float32)
    padded[BLOCK - SHIFT :] = samples[: count * SHIFT] if len(samples) >= SHIFT else np.pad(samples, (0, SHIFT - len(samples)))
    return padded[np.arange(count)[:, None] * SHIFT + np.arange(BLOCK)[None, :]]


def overlapped(blocks):
    """The sum of blocks that begin SHIFT samples after one another."""
    sound = np.zeros((len(blocks) - 1) * SHIFT + BLOCK, dtype=np.float32)
    for number, block in enumerate(blocks):
        sound[number * SHIFT : number * SHIFT + BLOCK] += block
    return sound[: len(blocks) * SHIFT]


class Suppressor:
    """The two models, each with a session that goes on from block to block."""

    def __init__(self, client, part):
        self.client, self.part = client, part

    def _run(self, model, name, rows):
        answers = serving.stream(self.client, model, name, rows[:, None, :].astype(np.float32), self.part)
        first = next(iter(answers[0].tensors))
        return np.concatenate([np.asarray(answer[first]) for answer in answers]).reshape(len(rows), -1)

    def clean(self, blocks):
        spectra = np.fft.rfft(blocks)
        mask = self._run("dtln1", "input_2", np.abs(spectra))
        estimates = np.fft.irfft(spectra * mask).astype(np.float32)
        return self._run("dtln2", "input_4", estimates)


def import_models(volvox, graphs, models):
    """Both graphs, as the models dtln1 and dtln2 of a repository."""
    for number, onnx in enumerate(graphs, 1):
        good, said = serving.run_volvox(volvox, "import", onnx, "--as", f"dtln{number}", "--into", models)
        if not good:
            raise SystemExit(said)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("noisy", help="a wave file")
    parser.add_argument("clean", help="what to write")
    parser.add_argument("--models", nargs=2, required=True, metavar="ONNX", help="the first and the second model")
    parser.add_argument("--part", type=int, default=125, help="blocks of one message (default: 125, a second)")
    serving.add_volvox_option(parser)
    arguments = parser.parse_args()
    samples, rate = serving.read_sound(arguments.noisy)
    if rate != RATE:
        raise SystemExit(f"{arguments.noisy}: {rate} samples a second, needs {RATE}")
    with tempfile.TemporaryDirectory() as folder:
        models = pathlib.Path(folder) / "models"
        import_models(arguments.volvox, arguments.models, models)
        with serving.Serving(arguments.volvox, models) as served:
            cleaned = Suppressor(served.client, arguments.part).clean(blocks_of(samples))
    serving.write_sound(arguments.clean, overlapped(cleaned), RATE)


if __name__ == "__main__":
    main()
