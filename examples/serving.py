"""What the examples share: a `volvox serve` of their own, and sounds."""

import pathlib
import subprocess
import sys
import time
import wave

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "protocol" / "python"))

import numpy as np  # noqa: E402
from volvox_client import Client, SessionToken  # noqa: E402

PATIENCE = 120  # seconds until a server must be there


def add_volvox_option(parser):
    parser.add_argument("--volvox", default=str(ROOT / "build" / "release" / "volvox"), help="the program")


def run_volvox(volvox, *arguments):
    """What `volvox …` prints, or what it says is wrong, and whether it succeeded."""
    done = subprocess.run([volvox, *map(str, arguments)], capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stdout if done.returncode == 0 else done.stderr.strip()


class Serving:
    """A server with the models of a folder, on a free port of this machine, as long as the `with` lasts; `client` asks it."""

    def __init__(self, volvox, models):
        self.models = pathlib.Path(models)
        self.command = [volvox, "serve", "--models", str(models), "--listen", "tcp://127.0.0.1:0"]
        self.command += ["--metrics", "127.0.0.1:0", "--http", ""]

    def __enter__(self):
        ports, log = self.models.parent / "ports", self.models.parent / "log"
        with open(log, "wb") as out:
            self.process = subprocess.Popen([*self.command, "--port-file", str(ports)], stdout=out, stderr=out)
        try:
            until = time.monotonic() + PATIENCE
            while not (ports.exists() and ports.read_text().split()):
                if self.process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError(log.read_text(encoding="utf-8", errors="replace"))
                time.sleep(0.01)
            self.client = Client(ports.read_text().split()[0], timeout=PATIENCE, connect_timeout=PATIENCE)
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise
        return self

    def __exit__(self, *_):
        self.client.close()
        self.process.terminate()
        self.process.wait()


def stream(client, model, name, rows, part):
    """The answers to rows of input `name`, in a session, `part` rows a message."""
    answers, token = [], SessionToken.begin()
    for first in range(0, len(rows), part):
        last = first + part >= len(rows)
        if first > 0:
            token = answers[-1].session.next(end=last)
        answers.append(client.infer(model, {name: rows[first : first + part]}, session=token))
    return answers


def read_sound(path):
    """Samples of a wave file as f32 in -1 … 1, of one channel, and how many there are a second."""
    with wave.open(str(path), "rb") as sound:
        if sound.getsampwidth() != 2:
            raise SystemExit(f"{path}: has {8 * sound.getsampwidth()} bits a sample, needs 16")
        samples = np.frombuffer(sound.readframes(sound.getnframes()), dtype="<i2").astype(np.float32) / 32768
        return samples.reshape(-1, sound.getnchannels()).mean(axis=1, dtype=np.float32), sound.getframerate()


def write_sound(path, samples, rate):
    with wave.open(str(path), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(rate)
        sound.writeframes((np.clip(samples, -1, 1) * 32767).round().astype("<i2").tobytes())
