"""What a server's process bears: a log that nobody reads, too few descriptors, files that others may touch.

Usage: process_test.py PATH_OF_VOLVOX SANITIZERS [unittest's options]
SANITIZERS: "sanitizers:" and those that the executable was built with.
"""

import json
import os
import pathlib
import re
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from served import PATIENCE, Server, cpu_s_of  # noqa: E402

VOLVOX, SANITIZERS = sys.argv.pop(1), sys.argv.pop(1).removeprefix("sanitizers:")
SLOW = 3 if SANITIZERS else 1
LIMIT, IDLE = 128, 140  # descriptors, and connections that say nothing


class Scratch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def start(self, config="", volvox=VOLVOX, **options):
        server = Server(volvox, self.folder, (("check", "check"),), config, **options)
        self.addCleanup(server.kill)
        return server

    def program(self, line):
        """A script in the place of the program, which it starts as `"$volvox" "$@"`."""
        script = self.folder / "script"
        script.write_text(f'#!/bin/sh\nvolvox="{VOLVOX}"\ncase $1 in models) exec "$volvox" "$@";; esac\n{line}\n')
        script.chmod(0o700)
        return str(script)

    def infer(self, server):
        command = [VOLVOX, "infer", "--connect", server.endpoint, "--timeout", "20"]
        request = json.dumps({"model": "check", "tokens": [1, 2, 3]})
        return subprocess.run(command, input=request, capture_output=True, text=True, check=False, timeout=PATIENCE)

    def assert_answers(self, server):
        done = self.infer(server)
        self.assertEqual(done.returncode, 0, done.stderr)

    def wait_until(self, what, condition):
        until = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), until, what)
            time.sleep(0.01)


class Logs(Scratch):
    def full_pipe(self):
        """A pipe that takes nothing more, as the server's standard error. Its end for reading."""
        os.mkfifo(self.folder / "stderr")
        end = os.open(self.folder / "stderr", os.O_RDWR | os.O_NONBLOCK)
        self.addCleanup(os.close, end)
        while True:
            try:
                os.write(end, b"." * 4096)
            except BlockingIOError:
                return end

    def start_unread(self):
        """A server with more to log than it keeps, and the end for reading of the pipe that takes nothing more."""
        end = self.full_pipe()
        program = self.program(f'exec "$volvox" "$@" 2>{self.folder / "stderr"}')
        server = self.start(f'[server]\nlog_lines = 16\n[admin]\nsocket = "{self.folder}/admin"\n', program)
        for _ in range(40):  # a line each
            command = [VOLVOX, "models", "load", "nobody", "--admin", str(self.folder / "admin")]
            subprocess.run(command, capture_output=True, check=False, timeout=PATIENCE)
        return server, end

    def test_a_log_that_nobody_reads_holds_up_nobody(self):
        server, end = self.start_unread()
        self.assert_answers(server)
        self.assertGreater(server.values()["volvox_log_lines_dropped_total"], 0)
        started = time.monotonic()
        self.assertEqual(server.stop(), 0)
        self.assertLess(time.monotonic() - started, 10)
        os.set_blocking(end, True)

    def test_a_reader_that_comes_back_is_told_what_is_missing(self):
        _server, end = self.start_unread()
        text = b""
        until = time.monotonic() + PATIENCE
        while b"lines of the log are missing" not in text and time.monotonic() < until:
            try:
                text += os.read(end, 65536)
            except BlockingIOError:
                time.sleep(0.01)
        self.assertRegex(text, rb"\d+ lines of the log are missing")


class Descriptors(Scratch):
    def test_idle_connections_beyond_the_limit_neither_spin_nor_shut_out(self):
        program = self.program(f'ulimit -n {LIMIT}; exec "$volvox" "$@"')
        server = self.start('[admin]\nsocket = ""\n', program, http="127.0.0.1:0")
        self.besiege(server, server.http.removeprefix("http://"))
        self.besiege(server, server.endpoint.removeprefix("tcp://"))

    def besiege(self, server, door):
        host, port = door.split(":")
        answered = sum(server.answers().values())
        standing = subprocess.Popen([VOLVOX, "load", "--connect", server.endpoint, "--model", "check", "--models",
                                     str(self.folder / "models"), "--rate", "20", "--seconds", "6", "--warmup", "0",
                                     "--json", str(self.folder / "load.json")], stdout=subprocess.DEVNULL)  # fmt: skip
        self.addCleanup(standing.wait)
        self.addCleanup(standing.kill)
        self.wait_until("the load runs", lambda: sum(server.answers().values()) > answered + 5)
        idle = [socket.socket() for _ in range(IDLE)]
        try:
            for one in idle:
                one.setblocking(False)
                one.connect_ex((host, int(port)))
            time.sleep(1)
            before = cpu_s_of(server.process.pid)
            time.sleep(2)
            self.assertLess(cpu_s_of(server.process.pid) - before, 0.2 * SLOW, "more than a tenth of a core")
            for page in (server.metrics + "/healthz", server.metrics + "/metrics"):
                self.assertEqual(urllib.request.urlopen(page, timeout=5).status, 200)
            self.assertLessEqual(server.values()["process_open_fds"], LIMIT)
            self.assertEqual(server.values()["process_max_fds"], LIMIT)
            self.assertEqual(standing.wait(PATIENCE), 0)
            report = json.loads((self.folder / "load.json").read_text())
            self.assertEqual(report["offered"], report["completed"], report["errors"])
        finally:
            for one in idle:
                one.close()
        self.wait_until("they are forgotten", lambda: self.infer(server).returncode == 0)

    def test_the_limit_is_raised_to_what_may_be(self):
        program = self.program(f'ulimit -Sn {LIMIT}; exec "$volvox" "$@"')
        server = self.start('[admin]\nsocket = ""\n', program)
        hard = int(subprocess.run("ulimit -Hn", shell=True, capture_output=True, check=True).stdout)
        self.assertEqual(server.values()["process_max_fds"], hard)
        self.assertRegex(server.log(), rf"file descriptors: at most {hard}")


class Files(Scratch):
    def test_a_key_that_others_may_read_is_refused(self):
        subprocess.run([VOLVOX, "keys", str(self.folder / "keys"), "--client", "alice"], check=True, stdout=subprocess.DEVNULL)
        secret = self.folder / "keys" / "server.key_secret"
        config = f'[security]\nserver_key = "{secret}"\nclients = "{self.folder}/keys/clients"\n[admin]\nsocket = ""\n'
        secret.chmod(0o640)
        with self.assertRaisesRegex(RuntimeError, "chmod 600"):
            self.start(config)
        secret.chmod(0o600)
        self.start(config)

    def make_keys(self, folder, *clients):
        options = [word for client in clients for word in ("--client", client)]
        subprocess.run([VOLVOX, "keys", str(folder), *options], check=True, stdout=subprocess.DEVNULL)

    def is_let_in(self, server, secret):
        keys = ("--server-key", str(self.folder / "keys" / "server.key"), "--client-key", str(secret))
        command = [VOLVOX, "infer", "--connect", server.endpoint, "--timeout", "10", *keys]
        request = json.dumps({"model": "check", "tokens": [1, 2, 3]})
        return subprocess.run(command, input=request, capture_output=True, text=True, check=False, timeout=PATIENCE).returncode == 0

    def test_a_key_that_is_written_over_counts_no_longer(self):
        self.make_keys(self.folder / "keys", "alice")
        self.make_keys(self.folder / "new", "alice")
        keys, known = self.folder / "keys", self.folder / "keys" / "clients" / "alice.key"
        server = self.start(f'[security]\nserver_key = "{keys}/server.key_secret"\nclients = "{keys}/clients"\n[admin]\nsocket = ""\n')
        self.assertTrue(self.is_let_in(server, keys / "alice.key_secret"))
        with open(known, "r+", encoding="utf-8") as file:  # as cp does: the same file, other bytes
            file.write((self.folder / "new" / "clients" / "alice.key").read_text(encoding="utf-8"))
        self.wait_until("the new key is let in", lambda: self.is_let_in(server, self.folder / "new" / "alice.key_secret"))
        self.assertFalse(self.is_let_in(server, keys / "alice.key_secret"))

    def test_a_folder_of_keys_that_is_gone_is_said_and_shuts_the_door(self):
        self.make_keys(self.folder / "keys", "alice")
        keys = self.folder / "keys"
        config = f'server_key = "{keys}/server.key_secret"\nclients = "{keys}/clients"\nstale_keys_ms = 1500\n'
        server = self.start(f'[security]\n{config}[admin]\nsocket = ""\n')
        unreadable = "volvox_client_keys_unreadable"
        self.assertEqual(server.values()[unreadable], 0)
        (keys / "clients").rename(keys / "away")
        self.wait_until("it is said", lambda: server.values()[unreadable] == 1)
        self.wait_until("nobody is let in", lambda: not self.is_let_in(server, keys / "alice.key_secret"))
        self.assertIn("cannot be read", server.log())
        (keys / "away").rename(keys / "clients")
        self.assertTrue(self.is_let_in(server, keys / "alice.key_secret"))
        self.wait_until("it is over", lambda: server.values()[unreadable] == 0)

    def test_the_port_file_writes_through_no_link(self):
        precious = self.folder / "precious"
        precious.write_text("mine")
        (self.folder / "ports.new").symlink_to(precious)
        server = self.start('[admin]\nsocket = ""\n')
        self.assertEqual(precious.read_text(), "mine")
        self.assertEqual(stat.S_IMODE(server.ports.stat().st_mode), 0o644)
        self.assertEqual([path.name for path in self.folder.glob("ports.??????")], [], "nothing is left over")

    def test_knocking_does_not_fill_the_log(self):
        subprocess.run([VOLVOX, "keys", str(self.folder / "keys"), "--client", "alice"], check=True, stdout=subprocess.DEVNULL)
        keys = f'server_key = "{self.folder}/keys/server.key_secret"\nclients = "{self.folder}/keys/clients"\n'
        server = self.start(f'[security]\n{keys}[admin]\nsocket = ""\n')
        host, port = server.endpoint.removeprefix("tcp://").split(":")
        greeting = bytes([0xFF, 0, 0, 0, 0, 0, 0, 0, 1, 0x7F, 3, 0]) + b"NULL".ljust(20, b"\0") + bytes(32)
        refused, started = "volvox_clients_refused_total", time.monotonic()

        def knock():
            while time.monotonic() - started < 3:
                with socket.create_connection((host, int(port))) as stranger:
                    stranger.sendall(greeting)
                    stranger.recv(64)

        load = [VOLVOX, "load", "--connect", server.endpoint, "--model", "check", "--models", str(self.folder / "models"), "--rate", "300",
                "--seconds", "3", "--warmup", "0", "--server-key", f"{self.folder}/keys/server.key",
                "--client-key", f"{self.folder}/keys/alice.key_secret"]  # fmt: skip
        busy = subprocess.Popen(load, stdout=subprocess.DEVNULL)  # a gateway that does nothing looks around twice a second
        self.addCleanup(busy.wait)
        self.addCleanup(busy.kill)
        knockers = [threading.Thread(target=knock) for _ in range(4)]
        for one in knockers:
            one.start()
        for one in knockers:
            one.join()
        self.wait_until("they are counted", lambda: server.values()[refused] >= 50)
        lines = len(re.findall("not let in", server.log()))
        self.assertTrue(1 <= lines <= time.monotonic() - started + 2, f"{lines} lines")


class Threads(Scratch):
    """How the kernel runs the threads that serve."""

    def policies(self, server):
        tasks = pathlib.Path("/proc", str(server.process.pid), "task")
        names = {task: (task / "comm").read_text().strip() for task in tasks.iterdir()}
        serving = [int(task.name) for task, name in names.items() if name.startswith(("caf.", "ZMQbg"))]
        self.assertGreater(len(serving), 3, names)
        return {os.sched_getscheduler(thread) for thread in serving}

    def test_those_that_are_woken_interrupt_no_other(self):
        self.assertEqual(self.policies(self.start()), {os.SCHED_BATCH})

    def test_they_may_be_as_any_others(self):
        self.assertEqual(self.policies(self.start('[server]\nthread_policy = "normal"\n')), {os.SCHED_OTHER})

    def test_what_an_operator_has_chosen_stays(self):
        server = self.start(volvox=self.program('exec chrt --idle 0 "$volvox" "$@"'))
        self.assertEqual(self.policies(server), {os.SCHED_IDLE})
        self.assert_answers(server)


if __name__ == "__main__":
    unittest.main()
