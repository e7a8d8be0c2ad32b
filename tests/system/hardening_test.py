"""How the program is built, and how the service is confined.

Usage: hardening_test.py PATH_OF_VOLVOX BUILD_TYPE SANITIZERS [unittest's options]
"""

import ctypes
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from served import PATIENCE, Server  # noqa: E402

VOLVOX = str(pathlib.Path(sys.argv.pop(1)).resolve())
BUILD_TYPE, SANITIZERS = (sys.argv.pop(1).removeprefix("sanitizers:") for _ in range(2))
UNIT = ROOT / "deploy" / "volvox.service"
EXPOSURE = 2.5  # at most, of 10
PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN = 65, 1


def needs(program):
    return unittest.skipUnless(shutil.which(program), f"{program} is not there: what it would look at was NOT looked at")


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@unittest.skipIf(BUILD_TYPE != "Release" or SANITIZERS, "only a release is hardened")
@needs("readelf")
class Program(unittest.TestCase):
    def assert_shows(self, pattern, *command):
        """Not assertRegex: what these print fills screens."""
        self.assertTrue(re.search(pattern, output_of(*command, VOLVOX), re.MULTILINE), f"{' '.join(command)}: no {pattern}")

    def test_it_may_lie_anywhere_and_its_tables_are_read_only(self):
        self.assert_shows(r"Type:\s+DYN", "readelf", "-hW")
        self.assert_shows(r"FLAGS_1.*\bPIE\b", "readelf", "-dW")
        self.assert_shows(r"FLAGS_1.*\bNOW\b", "readelf", "-dW")
        self.assert_shows(r"GNU_RELRO", "readelf", "-lW")
        self.assert_shows(r"GNU_STACK.*\bRW +0x", "readelf", "-lW")

    def test_stacks_buffers_and_containers_are_guarded(self):
        for symbol in (r"\b__stack_chk_fail\b", r"\b__\w+_chk\b", r"__glibcxx_assert_fail"):
            self.assert_shows(symbol, "readelf", "--dyn-syms", "-W")

    @needs("objdump")
    def test_jumps_land_where_they_may(self):
        self.assert_shows("endbr64", "objdump", "-d", "--no-show-raw-insn", "--disassemble=main")


@needs("systemd-analyze")
class Service(unittest.TestCase):
    def test_it_is_confined(self):
        done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", str(UNIT)],
                              capture_output=True, text=True, check=False)  # fmt: skip
        level = re.search(r"Overall exposure level for \S+: ([0-9.]+)", done.stdout)
        self.assertIsNotNone(level, done.stdout + done.stderr)
        self.assertLessEqual(float(level.group(1)), EXPOSURE, done.stdout)

    def test_systemd_understands_it(self):
        with tempfile.TemporaryDirectory() as folder:
            unit = pathlib.Path(folder) / UNIT.name  # with a program that is there
            unit.write_text(UNIT.read_text(encoding="utf-8").replace("/usr/bin/volvox", VOLVOX), encoding="utf-8")
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Confined(unittest.TestCase):
    def test_it_ends_before_systemd_loses_patience(self):
        unit = UNIT.read_text(encoding="utf-8")
        config = output_of(VOLVOX, "serve", "--print-config")
        times = [int(re.search(rf"^{name} = (\d+)", config, re.MULTILINE).group(1)) for name in ("drain_timeout_ms", "stop_timeout_ms")]
        patience = int(re.search(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE).group(1))
        self.assertGreater(patience * 1000, sum(times) + 5000)

    @unittest.skipIf(SANITIZERS, "sanitizers write code")
    def test_it_serves_without_memory_that_is_both_written_and_run(self):
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        forbid = f"import ctypes, os, sys; assert ctypes.CDLL(None).prctl({PR_SET_MDWE}, {PR_MDWE_REFUSE_EXEC_GAIN}, 0, 0, 0) == 0; os.execv(sys.argv[1], sys.argv[1:])"
        if prctl(66, 0, 0, 0, 0) < 0:
            self.skipTest("this kernel cannot forbid it: MemoryDenyWriteExecute was NOT looked at")
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder) / "volvox"
            script.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{forbid}" {VOLVOX} "$@"\n', encoding="utf-8")
            script.chmod(0o700)
            config = '[admin]\nsocket = ""\n[device]\nkind = "cpu"\n'
            server = Server(str(script), folder, (("lstm", "lstm", "--hidden", "64"),), config)
            self.addCleanup(server.kill)
            request = json.dumps({"model": "lstm", "tokens": [1, 2, 3]})
            command = [VOLVOX, "infer", "--connect", server.endpoint, "--timeout", "20"]
            done = subprocess.run(command, input=request, capture_output=True, text=True, check=False, timeout=PATIENCE)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
