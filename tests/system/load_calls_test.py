"""`volvox load --calls` against a real server of a small recurrent model over frames of sound.

Usage: load_calls_test.py VOLVOX [unittest's options]      VOLVOX: the executable
"""

import array
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import unittest
import wave

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from served import PATIENCE, Server  # noqa: E402

VOLVOX = "volvox"
# Frames of 160 ms, so that a machine that stalls for seconds is not too late.
RATE, WINDOW = 50, 9

MODEL = """name = "NAME"
unfolding = "chain"

[[cell]]
name = "listen"
kind = "file"

[[input]]
name = "samples"
dtype = "f32"
INPUT

[[output]]
name = "level"
every = true
"""


def listening(operator):
    """A cell that keeps tanh or the sigmoid of what it has heard."""
    return json.dumps({
        "states": [{"name": "heard", "dtype": "f32", "shape": [WINDOW], "initial": 0.0}],
        "values": [{"dtype": "f32", "shape": [WINDOW]}] * 4,
        "operators": [
            {"op": "pull", "name": "samples", "output": 0},
            {"op": "gather", "name": "heard", "output": 1},
            {"op": "add", "inputs": [0, 1], "output": 2},
            {"op": operator, "inputs": [2], "output": 3},
            {"op": "scatter", "inputs": [3], "name": "heard"},
            {"op": "push", "inputs": [3], "name": "level"},
        ],
    })  # fmt: skip


def write_model(folder, operator="tanh", given=f"shape = [{WINDOW}]"):
    """A model over windows, of which clients send all, or what `given` says."""
    (folder / "1").mkdir(parents=True)
    (folder / "model.toml").write_text(MODEL.replace("NAME", folder.name).replace("INPUT", given), encoding="utf-8")
    (folder / "listen.cell.json").write_text(listening(operator), encoding="utf-8")
    (folder / "1" / "weights.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")


def write_sound(path, samples, channels=1, rate=RATE):
    chance = random.Random(samples)
    with wave.open(str(path), "wb") as file:
        file.setparams((channels, 2, rate, 0, "NONE", ""))
        file.writeframes(array.array("h", [chance.randrange(-20000, 20000) for _ in range(samples)]).tobytes())


class Calls(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.sounds = self.folder / "sounds"
        self.sounds.mkdir()
        for samples in (700, 1234):
            write_sound(self.sounds / f"{samples}.wav", samples)
        write_model(self.folder / "models" / "voice")
        write_model(self.folder / "models" / "samples", given=f"window = {WINDOW}\nhop = {WINDOW - 1}")
        self.server = Server(VOLVOX, self.folder, ())
        self.addCleanup(lambda: self.server.kill())

    def load(self, *options, audio=None, calls=60, model="voice", frames=("--hop", str(WINDOW - 1), "--behind", "64")):
        """(exit status, report or None, what was said)"""
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        command = [VOLVOX, "load", "--connect", self.server.endpoint, "--model", model, "--calls", str(calls)]
        command += ["--audio", str(audio or self.sounds), "--seconds", "2", "--late-ms", "10000", "--json", str(report), *frames, *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        found = json.loads(report.read_text(encoding="utf-8")) if report.exists() else None
        return done.returncode, found, done.stdout + done.stderr

    def test_every_frame_is_answered_with_the_right_bits(self):
        status, report, said = self.load("--verify", str(self.folder / "models" / "voice"), "--churn", "0.3", "--jitter-ms", "9")
        self.assertEqual(status, 0, said)
        self.assertAlmostEqual(report["frames"], 60 * 2 / 0.16, delta=150)
        self.assertEqual((report["lost"], report["wrong"], report["late"]), (0, 0, 0), report)
        self.assertEqual((report["answered"], report["live"]), (report["frames"], 60), report)
        self.assertGreater(report["verified"], 50)
        self.assertEqual(report["joins"], report["leaves"])
        self.assertGreater(report["joins"], 0)
        self.assertIn("verified", said)

    def test_a_model_may_keep_what_was_before_itself(self):
        status, report, said = self.load("--verify", str(self.folder / "models" / "samples"), model="samples")
        self.assertEqual((status, report["wrong"]), (0, 0), said)
        self.assertGreater(report["verified"], 50)
        status, report, said = self.load("--input", "samples", model="samples")
        self.assertEqual((status, report["lost"]), (0, 0), said)

    def test_sessions_are_ended(self):
        status, _, said = self.load("--input", "samples", "--window", str(WINDOW), "--churn", "1")
        self.assertEqual(status, 0, said)
        until = time.monotonic() + PATIENCE
        while (values := self.server.values())['volvox_sessions{state="live"}'] > 0 and time.monotonic() < until:
            time.sleep(0.1)  # the page is not of this moment
        self.assertEqual(values['volvox_sessions{state="live"}'], 0)
        self.assertGreater(values["volvox_sessions_begun_total"], 60)
        self.assertEqual(values["volvox_sessions_begun_total"], values['volvox_sessions_ended_total{reason="ended"}'])

    def test_frames_may_go_out_together_over_several_connections(self):
        status, report, said = self.load("--input", "samples", "--window", str(WINDOW), "--tick-ms", "4", "--connections", "3", calls=21)
        self.assertEqual(status, 0, said)
        self.assertEqual((report["lost"], report["live"]), (0, 21), report)

    def test_frames_of_a_tick_go_out_in_one_bundle(self):
        verify = ("--verify", str(self.folder / "models" / "voice"))
        status, report, said = self.load("--bundle", "--churn", "0.3", *verify)
        self.assertEqual(status, 0, said)
        self.assertEqual((report["lost"], report["wrong"], report["live"]), (0, 0, 60), report)
        self.assertGreater(report["verified"], 50)

    def test_bundles_are_of_sessions(self):
        command = [VOLVOX, "load", "--connect", self.server.endpoint, "--model", "voice", "--bundle"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--bundle needs --sessions or --calls", done.stderr)

    def test_a_frame_is_of_32_ms_and_what_the_model_has_of_more(self):
        sound = self.folder / "sound.wav"
        write_sound(sound, 1000, rate=250)
        for options in (("--verify", str(self.folder / "models" / "voice")), ("--input", "samples", "--window", str(WINDOW))):
            _, report, said = self.load(*options, audio=sound, calls=3, frames=())
            self.assertEqual(report["errors"], {}, said)
            self.assertGreater(report["answered"], 0, said)
        _, report, said = self.load("--input", "samples", model="samples", audio=sound, calls=3, frames=())
        self.assertEqual(report["errors"], {}, said)
        self.assertGreater(report["answered"], 0, said)

    def test_other_bits_are_wrong(self):
        other = self.folder / "other" / "voice"
        write_model(other, "sigmoid")
        status, report, said = self.load("--verify", str(other))
        self.assertEqual(status, 1, said)
        self.assertGreater(report["wrong"], 0)
        self.assertIn("WRONG", said)

    def test_what_is_refused_counts(self):
        status, report, _ = self.load("--input", "samples", model="nobody")
        self.assertEqual(status, 1)
        self.assertEqual((report["answered"], report["lost"]), (0, report["frames"]), report)
        self.assertGreater(report["errors"]["MODEL_NOT_FOUND"], 0)
        self.assertGreater(report["ended"], 0)

    def test_a_few_places_for_sessions_are_shared(self):
        self.server.kill()
        self.server = Server(VOLVOX, self.folder, (), "[sessions]\nmax_sessions = 5\n")
        status, report, _ = self.load("--input", "samples", "--window", str(WINDOW), frames=("--hop", str(WINDOW - 1), "--behind", "4"))
        self.assertEqual(status, 1)
        self.assertGreater(report["answered"], 0, report)
        self.assertGreater(report["errors"]["OVERLOADED"], 0, report)
        self.assertGreater(report["dropped"], 0, report)
        self.assertEqual(report["frames"], report["answered"] + report["lost"], report)

    def test_says_what_is_wrong_with_a_sound(self):
        two = self.folder / "two.wav"
        write_sound(two, 100, channels=2)
        text = self.folder / "text.wav"
        text.write_text("no sound", encoding="utf-8")
        for path, why in ((two, "2 channels"), (text, "no wave file"), (self.folder / "none.wav", "none.wav")):
            status, report, said = self.load(audio=path)
            self.assertEqual((status, report), (1, None), said)
            self.assertIn(why, said)

    def test_says_which_options_do_not_fit(self):
        verify = ("--verify", str(self.folder / "models" / "voice"))
        for options, why in ((("--window", "12", *verify), "9 samples a step"), (("--hop", "10", *verify), "a hop of 10"),
                             (("--jitter-ms", "170"), "jitter"), (("--sessions", "3"), "--sessions")):  # fmt: skip
            status, report, said = self.load(*options, frames=() if "--hop" in options else ("--hop", "8"))
            self.assertNotEqual(status, 0, said)
            self.assertIsNone(report)
            self.assertIn(why, said)


if __name__ == "__main__":
    VOLVOX = sys.argv.pop(1)
    unittest.main()
