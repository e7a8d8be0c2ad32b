"""A server that is asked for more than it can do, by clients that do not behave: what it answers, and that it comes back.

Usage: overload_test.py PATH_OF_VOLVOX [unittest's options]

tests/measure/overload.py measures the same at length; here only counts are looked at.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from served import PATIENCE, Server  # noqa: E402

VOLVOX = sys.argv.pop(1)
CONFIG = """
[admin]
socket = ""
[device]
kind = "timed"
timed_task_us = {task_us}
timed_row_us = 0.0
task_timeout_ms = {task_timeout_ms}
[batching]
max_batch = 8
[limits]
silent_client_ms = 1000
"""


class Served(unittest.TestCase):
    task_us, task_timeout_ms = 2000.0, 30000

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        config = CONFIG.format(task_us=self.task_us, task_timeout_ms=self.task_timeout_ms)
        self.server = Server(VOLVOX, self.folder, (("check", "check"),), config)
        self.addCleanup(self.server.kill)

    def load(self, *options):
        report = self.folder / "load.json"
        command = [VOLVOX, "load", "--connect", self.server.endpoint, "--model", "check", "--models", str(self.folder / "models")]
        command += ["--length", "20", "--warmup", "0", "--json", str(report), *options]
        done = subprocess.run(command, capture_output=True, check=False, timeout=PATIENCE)
        self.assertTrue(report.exists(), done.stderr)
        loaded = json.loads(report.read_text(encoding="utf-8"))
        self.assertEqual(loaded["offered"], loaded["completed"] + sum(loaded["errors"].values()))
        self.assertEqual((loaded["wrong"], loaded["duplicates"]), (0, 0))
        self.assertEqual(loaded["verified"], loaded["completed"])
        return loaded

    def wait_until(self, holds):
        until = time.monotonic() + PATIENCE
        while not holds(self.server.values()):
            self.assertLess(time.monotonic(), until, "it never comes to that")
            time.sleep(0.02)


class Overload(Served):
    def test_a_surplus_with_deadlines_is_refused_and_the_rest_answered(self):
        loaded = self.load("--rate", "500", "--seconds", "3", "--deadline-ms", "500", "--priority", "high=1,normal=8,low=1")
        self.assertGreater(loaded["completed"], 0)
        self.assertGreater(loaded["errors"].get("OVERLOADED", 0), 0)
        self.assertEqual(set(loaded["errors"]) - {"OVERLOADED", "DEADLINE_EXCEEDED"}, set())
        self.assertGreater(loaded["retry_after_ms"]["max"], 0)
        self.assertGreater(self.server.values()['volvox_refused_total{bound="deadline"}'], 0)

    def test_it_survives_clients_that_never_read_or_vanish(self):
        loaded = self.load("--rate", "1500", "--seconds", "2", "--deadline-ms", "500", "--cancel-fraction", "0.1",
                           "--never-read", "20", "--vanish", "20")  # fmt: skip
        self.assertGreater(loaded["completed"], 0)
        self.assertEqual(set(loaded["errors"]) - {"OVERLOADED", "DEADLINE_EXCEEDED", "CANCELLED"}, set())
        self.assertGreaterEqual(loaded["misbehaved"]["vanished"], 20)
        self.wait_until(lambda metrics: metrics["volvox_requests_in_flight"] == 0 and metrics["volvox_clients"] == 0)
        self.assertEqual(self.load("--concurrency", "4", "--requests", "50")["completed"], 50)
        self.assertEqual(self.server.values()["volvox_actor_restarts_total"], 0)


class Stall(Served):
    task_us, task_timeout_ms = 1e7, 200

    def infer(self):
        request = json.dumps({"model": "check", "tokens": [1, 2]}).encode()
        command = [VOLVOX, "infer", "--connect", self.server.endpoint]
        done = subprocess.run(command, input=request, capture_output=True, check=False, timeout=PATIENCE)
        return json.loads(done.stdout)["error"]["code"]

    def test_a_task_that_hangs_is_told_and_the_server_can_be_stopped(self):
        self.assertEqual(self.infer(), "INTERNAL")
        with self.assertRaises(urllib.error.HTTPError) as refusal:
            urllib.request.urlopen(self.server.metrics + "/readyz", timeout=PATIENCE)
        self.assertEqual(refusal.exception.code, 503)
        self.assertIn("device.task_timeout_ms", refusal.exception.read().decode())
        self.assertEqual(self.infer(), "UNAVAILABLE")
        self.server.process.terminate()
        begin, until = time.monotonic(), time.monotonic() + PATIENCE
        while self.server.process.poll() is None and time.monotonic() < until:
            time.sleep(0.1)
            self.server.process.terminate()
        self.assertEqual(self.server.process.wait(), 0, "nothing was left unanswered")
        self.assertLess(time.monotonic() - begin, self.task_us / 1e6 / 2, "at once, not when the task ends")


if __name__ == "__main__":
    unittest.main()
