"""Models whose steps overlap: clients that send each sample once get the bits of those that send whole windows.

Usage: windows_test.py VOLVOX [unittest's options]      VOLVOX: the executable
"""

import pathlib
import random
import struct
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "protocol" / "python"), str(ROOT / "tests")]

from load_calls_test import WINDOW, write_model  # noqa: E402
from served import PATIENCE, Server  # noqa: E402
from volvox_client import Client, Code, SessionToken, Tensor, VolvoxError  # noqa: E402

VOLVOX = "volvox"
HOPS = (1, 4, WINDOW - 1)  # new samples of a step


def tensor(numbers, width):
    return Tensor("f32", (len(numbers) // width, width), struct.pack(f"<{len(numbers)}f", *numbers))


class Windows(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        folder = pathlib.Path(cls.scratch.name)
        write_model(folder / "models" / "whole")
        for hop in HOPS:
            write_model(folder / "models" / f"hop{hop}", given=f"window = {WINDOW}\nhop = {hop}")
        # Places for two states: those of others go to the host and come back.
        cls.server = Server(VOLVOX, folder, (), "[sessions]\nmax_resident = 2\n")
        cls.addClassCleanup(cls.server.kill)
        cls.client = Client(cls.server.endpoint, timeout=PATIENCE, connect_timeout=PATIENCE)
        cls.addClassCleanup(cls.client.close)

    def stream_of(self, hop, steps, seed):
        chance = random.Random(seed)
        return [chance.uniform(-1, 1) for _ in range(hop * steps)]

    def by_hand(self, hop, stream):
        """The answer to windows that the client has put together."""
        padded = [0.0] * (WINDOW - hop) + stream
        rows = [sample for at in range(0, len(stream), hop) for sample in padded[at : at + WINDOW]]
        return self.client.infer("whole", {"samples": tensor(rows, WINDOW)}).tensors["level"].data

    def test_a_request_that_stands_alone(self):
        for hop in HOPS:
            stream = self.stream_of(hop, 30, hop)
            answer = self.client.infer(f"hop{hop}", {"samples": tensor(stream, hop)}).tensors["level"].data
            self.assertEqual(answer, self.by_hand(hop, stream), hop)

    def test_sessions_in_parts_of_any_size(self):
        chance = random.Random(7)
        for hop in HOPS:
            streams = [self.stream_of(hop, 40, seed) for seed in range(6)]
            tokens, answers, at = [SessionToken.begin() for _ in streams], [b""] * 6, [0] * 6
            while min(at) < 40:
                for i, stream in enumerate(streams):
                    steps = min(chance.randint(1, 9), 40 - at[i])
                    if steps == 0:
                        continue
                    part = stream[at[i] * hop : (at[i] + steps) * hop]
                    reply = self.client.infer(f"hop{hop}", {"samples": tensor(part, hop)}, session=tokens[i])
                    answers[i] += bytes(reply.tensors["level"].data)
                    at[i] += steps
                    tokens[i] = reply.session.next()
            for stream, answer in zip(streams, answers):
                self.assertEqual(answer, bytes(self.by_hand(hop, stream)), hop)
        self.assertGreater(self.server.values()["volvox_session_spills_total"], 0)

    def test_whole_windows_are_refused(self):
        with self.assertRaises(VolvoxError) as caught:
            self.client.infer(f"hop{HOPS[0]}", {"samples": tensor([0.0] * WINDOW, WINDOW)})
        self.assertEqual(caught.exception.code, Code.INVALID_ARGUMENT)


if __name__ == "__main__":
    VOLVOX = sys.argv.pop(1)
    unittest.main()
