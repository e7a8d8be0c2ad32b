"""The command line itself: what it prints, how it refuses, and what ends it.

Usage: command_line_test.py VOLVOX [unittest's options]      VOLVOX: the executable
"""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from served import PATIENCE, Server  # noqa: E402

VOLVOX = "volvox"
COMMANDS = ("serve", "router", "node", "drain", "load", "infer", "status", "models", "keys", "log-level", "simulate")
MODELS = ("list", "check", "load", "unload", "reload", "new-lstm", "new-tree", "new-noop", "new-check")


def run(*arguments, **options):
    return subprocess.run([VOLVOX, *arguments], capture_output=True, timeout=PATIENCE, check=False, **options)


class Words(unittest.TestCase):
    def test_help_is_plain_text(self):
        for command in ([], *([name] for name in COMMANDS), *(["models", name] for name in MODELS)):
            done = run(*command, "--help")
            self.assertEqual(done.returncode, 0, command)
            control = {byte for byte in done.stdout if byte < 32 and byte != 10}
            self.assertFalse(control, command)
            wide = [line for line in done.stdout.decode().splitlines() if len(line) > 80]
            self.assertFalse(wide, command)
            for name in COMMANDS if not command else ():
                self.assertIn(f"\n  {name} ", done.stdout.decode())

    def test_a_router_is_configured_as_a_server_is(self):
        options = ("--log-level", "error", "--log-format", "json", "--drain-timeout-ms", "1234", "--print-config")
        for command in ("serve", "router"):
            printed = run(command, *options).stdout.decode()
            for line in ('log_level = "error"', 'log_format = "json"', "drain_timeout_ms = 1234"):
                self.assertIn(line, printed, command)

    def test_choices_are_words(self):
        self.assertIn("{auto,avx512,avx2,portable}", run("serve", "--help").stdout.decode().replace(" ", ""))
        self.assertIn("Usage: volvox serve", run("serve", "--help").stdout.decode())
        for default in ("tcp://127.0.0.1:7100", "=auto", "=cellular"):
            self.assertIn(default, run("serve", "--help").stdout.decode())
        for value in ("2", "loud", ""):
            done = run("serve", "--log-level", value)
            self.assertEqual(done.returncode, 2)
            self.assertIn("{debug,info,warning,error,off}", done.stderr.decode())

    def test_what_does_not_exist_is_told_with_what_does(self):
        done = run("frob")
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no subcommand 'frob'; there are: serve, router, node", done.stderr.decode())
        self.assertEqual(run("help").stdout, run("--help").stdout)
        for wrong in ((), ("serve", "--frob"), ("keys",)):
            self.assertEqual(run(*wrong).returncode, 2, wrong)


class Acts(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def test_keys_that_are_there_stay(self):
        self.assertEqual(run("keys", self.folder, "--client", "alice").returncode, 0)
        before = (self.folder / "alice.key_secret").read_bytes()
        done = run("keys", self.folder, "--client", "alice", "--client", "bob")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("was there already", done.stdout.decode())
        self.assertEqual((self.folder / "alice.key_secret").read_bytes(), before)
        self.assertTrue((self.folder / "clients" / "bob.key").exists())

    def test_a_hang_up_drains(self):
        server = Server(VOLVOX, self.folder, [("new-check", "m")])
        server.process.send_signal(signal.SIGHUP)
        self.assertEqual(server.process.wait(PATIENCE), 0, server.log())
        self.assertIn("signal 1", server.log())

    def test_nobody_need_read_what_a_server_prints(self):
        folder = self.folder
        self.assertEqual(run("models", "new-check", folder / "models" / "m").returncode, 0)
        ends = os.pipe()
        os.set_blocking(ends[1], False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(ends[1], b"x")
        os.set_blocking(ends[1], True)
        for command in (["serve", "--models", folder / "models", "--http", ""], ["router", "--cluster-listen", "127.0.0.1:0", "--http", ""]):
            ports = folder / f"{command[0]}.ports"
            where = ["--listen", "tcp://127.0.0.1:0", "--metrics", "127.0.0.1:0", "--admin", "", "--port-file", ports]
            log = folder / f"{command[0]}.log"
            with open(log, "wb") as file, subprocess.Popen([VOLVOX, *command, *where], stdout=ends[1], stderr=file) as server:
                self.addCleanup(server.kill)
                until = time.monotonic() + PATIENCE
                while not ports.exists() and time.monotonic() < until:
                    time.sleep(0.01)
                server.terminate()
                self.assertEqual(server.wait(PATIENCE), 0, command)
            self.assertNotIn("took too long", log.read_text(encoding="utf-8"))

    def test_a_hang_up_is_nothing_to_who_was_started_to_survive_it(self):
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self.addCleanup(signal.signal, signal.SIGHUP, before)
        server = Server(VOLVOX, self.folder, [("new-check", "m")])
        self.addCleanup(server.kill)
        server.process.send_signal(signal.SIGHUP)
        self.assertIn("volvox_requests_in_flight", server.page())
        self.assertEqual(server.stop(), 0)
        self.assertNotIn("signal 1\n", server.log() + "\n")


if __name__ == "__main__":
    VOLVOX = sys.argv.pop(1)
    unittest.main()
