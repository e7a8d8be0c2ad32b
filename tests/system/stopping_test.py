"""How a server ends: what signals mean, that nothing is lost, and that no end takes for ever.

Usage: stopping_test.py PATH_OF_VOLVOX [unittest's options]
"""

import array
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import zmq

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "protocol" / "python")]

from served import PATIENCE, Server  # noqa: E402
from volvox_wire import Chain, encode_body, encode_header, tensor  # noqa: E402

VOLVOX = sys.argv.pop(1)
CONFIG = """
[server]
drain_timeout_ms = {drain}
stop_timeout_ms = {stop}
[admin]
socket = ""
[device]
kind = "timed"
timed_task_us = {task_us}
timed_row_us = 0.0
task_timeout_ms = 60000
[limits]
silent_client_ms = 0
slow_client_ms = 3600000
max_replies_per_client = 16
max_reply_mib_per_client = 1024
max_reply_mib_waiting = 4096
"""


class Stopping(unittest.TestCase):
    def start(self, drain=30000, stop=5000, task_us=2000.0, config="", **options):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        text = CONFIG.format(drain=drain, stop=stop, task_us=task_us) + config
        models = (("check", "check"), ("check", "every", "--every-step"))
        server = Server(VOLVOX, self.folder, models, text, **options)
        self.addCleanup(server.kill)
        return server

    def infer(self, server, tokens=20):
        """A request that is under way when this returns."""
        command = [VOLVOX, "infer", "--connect", server.endpoint, "--timeout", "30"]
        client = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(client.stdout.close)
        self.addCleanup(client.stderr.close)
        self.addCleanup(client.kill)
        client.stdin.write(json.dumps({"model": "check", "tokens": [1] * tokens}))
        client.stdin.close()
        client.stdin = None
        self.wait_until("the request is in flight", lambda: server.values()["volvox_requests_in_flight"] >= 1)
        return client

    def wait_until(self, what, condition):
        until = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), until, what)
            time.sleep(0.01)

    def ends_within(self, server, seconds):
        try:
            return server.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.fail(f"still there after {seconds} s\n{server.log()}")

    def test_signals_in_a_row_are_one_wish(self):
        server = self.start(task_us=20000.0)
        client = self.infer(server)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGTERM):  # a terminal, a script, a supervisor
            server.process.send_signal(number)
            time.sleep(0.05)
        self.assertEqual(self.ends_within(server, PATIENCE), 0, server.log())
        self.assertEqual(client.wait(PATIENCE), 0, client.stderr.read())

    def test_a_second_signal_later_leaves_at_once_and_owns_up(self):
        server = self.start(task_us=9e6)
        self.infer(server)
        server.process.terminate()
        time.sleep(1.2)
        self.assertIsNone(server.process.poll())
        server.process.terminate()
        self.assertEqual(self.ends_within(server, 5), 1, server.log())
        self.assertIn("1 requests unanswered", server.log())

    def test_a_second_signal_that_leaves_nobody_without_an_answer_is_no_failure(self):
        server = self.start(drain=100, stop=60000, task_us=9e6)
        client = self.infer(server)
        server.process.terminate()
        client.wait(PATIENCE)
        time.sleep(1.2)
        self.assertIsNone(server.process.poll(), "the task still runs")
        server.process.terminate()
        self.assertEqual(self.ends_within(server, 5), 0, server.log())

    def test_a_device_that_does_not_let_go_delays_no_stop_for_ever(self):
        server = self.start(drain=100, stop=1500, task_us=9e6)
        client = self.infer(server)
        server.process.terminate()
        self.assertEqual(self.ends_within(server, 5), 0, server.log())
        self.assertIn("UNAVAILABLE", client.communicate(timeout=PATIENCE)[1])

    def test_clients_that_do_not_read_delay_no_stop_for_ever(self):
        server = self.start(drain=1000, stop=1000, task_us=1.0)
        with zmq.Context() as context, context.socket(zmq.DEALER) as deaf:
            for option, value in ((zmq.RCVHWM, 1), (zmq.RCVBUF, 4096), (zmq.LINGER, 0)):
                deaf.setsockopt(option, value)
            deaf.connect(server.endpoint)
            body = encode_body(Chain(4000), {"tokens": tensor(array.array("i", [1] * 4000))})
            for number in range(400):
                deaf.send_multipart((encode_header("infer", number, "every"), body))
            self.wait_until("replies wait", lambda: server.values()["volvox_waiting_reply_bytes"] > 0)
            server.process.terminate()
            self.assertEqual(self.ends_within(server, 15), 0, server.log())
            self.assertIn("were not read before the server stopped", server.log())

    def test_a_half_sent_http_request_delays_no_stop_for_ever(self):
        server = self.start(stop=2000, http="127.0.0.1:0")
        host, port = server.http.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as half:
            half.sendall(b"POST /v2/models/check/infer HTTP/1.1\r\nHost: ")
            started = time.monotonic()
            server.process.terminate()
            self.assertEqual(self.ends_within(server, PATIENCE), 0, server.log())
            self.assertLess(time.monotonic() - started, 35)

    def test_a_signal_while_it_starts_ends_it(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([VOLVOX, "models", "new", "lstm", folder + "/lstm", "--hidden", "1024"], check=True, stdout=subprocess.DEVNULL)
            command = [VOLVOX, "serve", "--models", folder, "--listen", "tcp://127.0.0.1:0", "--metrics", "", "--http", ""]
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
                self.addCleanup(process.kill)
                self.wait_until("it listens for signals", lambda: listens_for_signals(process.pid))
                process.terminate()
                self.assertEqual(process.wait(PATIENCE), 0)
                self.assertNotIn(b"ready", process.stdout.read(), "it was too late for what this looks at")

    def test_no_thread_may_be_hit_by_a_signal(self):
        server = self.start()
        for task in pathlib.Path(f"/proc/{server.process.pid}/task").iterdir():
            self.assertTrue(blocks_signals(server.process.pid, task.name), (task / "comm").read_text())


# Signals may be blocked for a moment before: by sanitizers, while they start.
def listens_for_signals(pid):
    with contextlib.suppress(OSError):
        return any(os.readlink(fd) == "anon_inode:[signalfd]" for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir())
    return False


def blocks_signals(pid, task=None):
    status = pathlib.Path(f"/proc/{pid}/task/{task or pid}/status").read_text()
    blocked = int(next(line for line in status.splitlines() if line.startswith("SigBlk:")).split()[1], 16)
    return all(blocked >> (number - 1) & 1 for number in (signal.SIGINT, signal.SIGTERM))


if __name__ == "__main__":
    unittest.main()
