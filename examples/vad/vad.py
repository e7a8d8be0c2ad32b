#!/usr/bin/env python3
"""Where somebody speaks in a sound: Silero VAD, served.

    vad.py --onnx silero_vad.onnx --wav CALL.wav … [--probabilities OUT.json]

Imports the graph, whichever of its spellings it is (v5, v6 with `state`; the older one with `h` and `c`), for the rates of the
sounds, serves it, streams each file in a session of its own, all at once, and prints the stretches of speech as upstream's
wrapper finds them. Sounds are 16-bit waves of 8000 or 16000 samples a second, or a multiple of 16000, of which some are left out.

The file is in npm's @ricky0123/vad-web (dist/silero_vad_v5.onnx, silero_vad_v6.onnx, silero_vad_legacy.onnx), and in
upstream's repository, snakers4/silero-vad (MIT).
"""

import argparse
import concurrent.futures
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import numpy as np  # noqa: E402
import serving  # noqa: E402

FRAME = {16000: 512, 8000: 256}  # samples of one probability
CONTEXT = {16000: 64, 8000: 32}  # samples before them that v5 and v6 see once more; the server keeps them


class Detector:
    """A graph for one rate, as a model in a repository."""

    def __init__(self, volvox, onnx, rate, models):
        self.name, self.rate, self.frame, self.context = f"vad{rate}", rate, FRAME[rate], CONTEXT[rate]
        done = self._import(volvox, onnx, models)
        if "state h becomes" in done:  # the older graph looks at the frame alone
            self.context = 0
            self._import(volvox, onnx, models)

    def _import(self, volvox, onnx, models):
        seen = self.context + self.frame
        common = ["import", onnx, "--as", self.name, "--into", models, "--overwrite", "--shape", f"input=1,{seen}"]
        if self.context:
            common += ["--window", f"input={seen}/{self.frame}"]
        good, said = serving.run_volvox(volvox, *common, "--set", f"sr={self.rate}")
        if not good and "has no input 'sr'" in said and self.rate == 16000:  # for which one without it is made
            good, said = serving.run_volvox(volvox, *common)
        if not good:
            raise SystemExit(said)
        return said


def rows_of(samples, rate):
    """A row for each frame, the last one filled up with silence."""
    rows = np.zeros((-(-len(samples) // FRAME[rate]), FRAME[rate]), dtype=np.float32)
    rows.reshape(-1)[: len(samples)] = samples
    return rows


def at_served_rate(samples, rate):
    if rate % 16000 == 0 and rate > 16000:
        return samples[:: rate // 16000], 16000
    if rate not in FRAME:
        raise SystemExit(f"{rate} samples a second: needs 8000, 16000 or a multiple of 16000")
    return samples, rate


def speech(probabilities, samples, rate, threshold=0.5):
    """Stretches of speech as upstream's get_speech_timestamps finds them: pairs of samples."""
    frame = FRAME[rate]
    least_speech, least_silence, pad = rate * 250 // 1000, rate * 100 // 1000, rate * 30 // 1000
    found, start, quiet = [], None, 0
    for i, probability in enumerate(probabilities):
        if probability >= threshold:
            quiet = 0
            start = frame * i if start is None else start
        elif probability < max(threshold - 0.15, 0.01) and start is not None:
            quiet = quiet or frame * i
            if frame * i - quiet < least_silence:
                continue
            if quiet - start > least_speech:
                found.append([start, quiet])
            start, quiet = None, 0
    if start is not None and samples - start > least_speech:
        found.append([start, samples])
    for one, after in zip(found, [*found[1:], None]):
        if one is found[0]:
            one[0] = max(0, one[0] - pad)
        between = after[0] - one[1] if after else None
        if after and between < 2 * pad:
            one[1] += between // 2
            after[0] = max(0, after[0] - between // 2)
            continue
        one[1] = min(samples, one[1] + pad)
        if after:
            after[0] = max(0, after[0] - pad)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--onnx", required=True, help="Silero's graph")
    parser.add_argument("--wav", required=True, nargs="+", help="16-bit wave files")
    parser.add_argument("--probabilities", help="write a list of probabilities for each file, as JSON")
    parser.add_argument("--part", type=int, default=31, help="frames of one message (default: 31, a second)")
    serving.add_volvox_option(parser)
    arguments = parser.parse_args()
    sounds = {path: at_served_rate(*serving.read_sound(path)) for path in arguments.wav}
    with tempfile.TemporaryDirectory() as folder:
        models = pathlib.Path(folder) / "models"
        rates = {rate for _, rate in sounds.values()}
        detectors = {rate: Detector(arguments.volvox, arguments.onnx, rate, models) for rate in rates}

        with serving.Serving(arguments.volvox, models) as served:

            def listen(path):
                samples, rate = sounds[path]
                rows = rows_of(samples, rate)
                answers = serving.stream(served.client, detectors[rate].name, "input", rows, arguments.part)
                return [float(p) for answer in answers for p in np.ravel(answer["output"])]

            with concurrent.futures.ThreadPoolExecutor(max_workers=64) as pool:
                heard = dict(zip(sounds, pool.map(listen, sounds)))
    for path, probabilities in heard.items():
        samples, rate = sounds[path]
        for start, end in speech(probabilities, len(samples), rate):
            print(f"{path}\t{start / rate:.3f}\t{end / rate:.3f}")
    if arguments.probabilities:
        pathlib.Path(arguments.probabilities).write_text(json.dumps(heard), encoding="utf-8")


if __name__ == "__main__":
    main()
