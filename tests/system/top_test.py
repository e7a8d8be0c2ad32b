"""`volvox top` in a terminal of 80 columns and 24 rows, over a cluster that loses a node; and where it writes into a pipe.
Skipped (77) where there is no tmux, which is the terminal.

Usage: top_test.py PATH_OF_VOLVOX [unittest's options]
"""

import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/measure")]

from cluster_processes import Cluster, Load, Loopback  # noqa: E402
from served import PATIENCE  # noqa: E402

VOLVOX = sys.argv.pop(1)
SKIPPED = 77


class Terminal:
    """A tmux of one's own with one window, in which a command runs; its exit status is on the screen in the end."""

    def __init__(self, folder, command, columns=80, rows=24):
        self.socket = str(pathlib.Path(folder) / "tmux")
        shell = "trap : INT; " + shlex.join(command) + "; echo status $?; cat"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), "sh", "-c", shell)

    def tmux(self, *arguments):
        done = subprocess.run(["tmux", "-S", self.socket, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=True)
        return done.stdout

    def lines(self, joined=False):
        """What stands on the screen. `joined`: lines that the terminal wrapped are one."""
        text = self.tmux("capture-pane", "-p", *(["-J"] if joined else []))
        return [line.rstrip() for line in text.splitlines()]

    def resize(self, columns, rows):
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def type(self, keys):
        self.tmux("send-keys", keys)

    def end(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True, check=False)


class Top(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.cluster = Cluster(VOLVOX, scratch.name, Loopback(), "", routers=1, nodes=2)
        cls.addClassCleanup(cls.cluster.end)
        cls.cluster.new_model("lstm", "lstm", "--hidden", 16, "--vocabulary", 100)
        cls.cluster.start()
        (router,) = cls.cluster.routers
        load = Load(cls.cluster, "load", router.endpoint, "--model", "lstm", "--vocabulary", 100, "--rate", 100, "--seconds", 300)
        cls.addClassCleanup(load.end)
        cls.command = [VOLVOX, "top", *(member.metrics for member in (router, *cls.cluster.nodes)), "--interval", "0.5"]

    def terminal(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        terminal = Terminal(scratch.name, self.command)
        self.addCleanup(terminal.end)
        return terminal

    def wait_for(self, terminal, pattern):
        """The screen on which this is found."""
        until = time.monotonic() + PATIENCE
        while True:
            lines = terminal.lines()
            if re.search(pattern, "\n".join(lines), re.MULTILINE):
                return lines
            self.assertLess(time.monotonic(), until, "\n".join(lines))
            time.sleep(0.05)

    def assert_nothing_wraps(self, terminal, columns, rows):
        self.assertEqual(terminal.tmux("display-message", "-p", "#{pane_width} #{pane_height}").split(), [str(columns), str(rows)])
        self.assertLessEqual(max(map(len, terminal.lines())), columns)
        self.assertEqual(len(terminal.lines(joined=True)), len(terminal.lines()))

    def test_a_terminal_of_80_by_24_shows_the_cluster(self):
        terminal = self.terminal()
        lines = self.wait_for(terminal, r"^requests/s  ok [1-9]")
        self.assertRegex(lines[0], r"^volvox top  \d\d:\d\d:\d\d  3 of 3 processes answer$")
        for pattern in (r"^PROCESS ", r"^DEVICE ", r"^CELL TYPE ", r"^lstm/1 lstm +[1-9]"):
            self.wait_for(terminal, pattern)
        for member in (*self.cluster.routers, *self.cluster.nodes):
            self.wait_for(terminal, rf"^{re.escape(member.metrics)} +ready ")
        self.assert_nothing_wraps(terminal, 80, 24)
        terminal.type("q")
        self.wait_for(terminal, r"^status 0$")

    def test_it_follows_the_terminals_size(self):
        terminal = self.terminal()
        self.wait_for(terminal, r"^CELL TYPE ")
        for columns, rows, sign in ((60, 12, r"^  and \d+ more"), (132, 40, r"^PROCESS .{80,} MiB$"), (80, 24, r"^PROCESS .{50,71} MiB$")):
            terminal.resize(columns, rows)
            self.wait_for(terminal, sign)
            self.assert_nothing_wraps(terminal, columns, rows)

    def test_a_node_that_dies_is_silent_until_it_is_back(self):
        terminal, node = self.terminal(), self.cluster.nodes[0]
        self.wait_for(terminal, r"3 of 3 processes answer")
        node.send(signal.SIGKILL)
        try:
            self.wait_for(terminal, rf"^{re.escape(node.metrics)} +silent  \S")
            self.wait_for(terminal, r"2 of 3 processes answer")
        finally:
            node.start()
            self.cluster.wait_for_members()
        self.wait_for(terminal, r"3 of 3 processes answer")
        terminal.type("C-c")
        self.wait_for(terminal, r"^status 0$")

    def test_into_a_pipe_go_plain_lines(self):
        done = subprocess.run([*self.command, "--rounds", "3"], capture_output=True, text=True, timeout=PATIENCE, check=True)
        self.assertNotIn("\033", done.stdout)
        looks = done.stdout.strip().split("volvox top  ")[1:]
        self.assertEqual(len(looks), 3)
        self.assertRegex(looks[2], r"requests/s  ok [1-9]")

    def test_a_reader_that_goes_is_its_end(self):
        top = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(top.kill)
        self.assertTrue(top.stdout.readline().startswith(b"volvox top"))
        top.stdout.close()
        self.assertEqual(top.wait(PATIENCE), 0)
        self.assertEqual(top.stderr.read(), b"")
        top.stderr.close()


if __name__ == "__main__":
    if not shutil.which("tmux"):
        print("skipped: there is no tmux here")
        sys.exit(SKIPPED)
    os.environ["LC_ALL"] = "C.UTF-8"  # tmux wants one that knows UTF-8
    unittest.main()
