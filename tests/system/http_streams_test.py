"""Sequences over HTTP at a real server, with clients that misbehave.

Usage: http_streams_test.py VOLVOX [unittest's options]      VOLVOX: the executable
"""

import pathlib
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from disturbed_streams import run_streams  # noqa: E402
from served import PATIENCE, Server  # noqa: E402
from v2_client import Client  # noqa: E402

VOLVOX = sys.argv.pop(1)
FEW_PLACES = "[sessions]\nmax_resident = 3\n"  # so that states go to the host and return


class Streams(unittest.TestCase):
    @staticmethod
    def values_at_rest(server):
        """The metrics, which follow an answer by a moment, once nothing lives any more, or after a long time."""
        until = time.monotonic() + PATIENCE
        values = server.values()
        while values['volvox_sessions{state="live"}'] + values["volvox_http_sequences"] > 0 and time.monotonic() < until:
            time.sleep(0.02)
            values = server.values()
        return values

    def test_no_answer_is_wrong_and_nothing_is_left(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        server = Server(VOLVOX, scratch.name, (("check", "m"),), config=FEW_PLACES, http="127.0.0.1:0")
        self.addCleanup(server.kill)
        self.assertEqual(run_streams(Client(server.http), "m"), [])
        values = self.values_at_rest(server)
        self.assertEqual(values["volvox_http_sequences"], 0)
        self.assertEqual(values['volvox_sessions{state="live"}'], 0)
        self.assertEqual(values['volvox_sessions_ended_total{reason="ended"}'], values["volvox_sessions_begun_total"])
        self.assertEqual(values['volvox_session_parts_total{outcome="committed"}'], 6 * 4 * (8 + 1))  # and the end
        self.assertGreater(values['volvox_session_parts_total{outcome="repeated"}'], 0)
        self.assertEqual(values["volvox_actor_restarts_total"], 0)


if __name__ == "__main__":
    unittest.main()
