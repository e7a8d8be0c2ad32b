"""What is said about metrics, against a server's own page: the handbook, the dashboard, the alerts.

Usage: metrics_test.py PATH_OF_VOLVOX [unittest's options]
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from served import Server  # noqa: E402

VOLVOX = sys.argv.pop(1)


def metrics_page():
    """The page of a server that has answered one request by each door."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(VOLVOX, folder, (("check", "check"),), http="127.0.0.1:0")
        try:
            request = json.dumps({"model": "check", "tokens": [1, 2]}).encode()
            command = [VOLVOX, "infer", "--connect", server.endpoint]
            subprocess.run(command, input=request, check=True, stdout=subprocess.DEVNULL)
            return server.page()
        finally:
            server.kill()


def names_in(path):
    """Metrics that a text speaks of; a histogram's series count as the histogram."""
    names = re.findall(r"\bvolvox_[a-z0-9_]+", (ROOT / path).read_text(encoding="utf-8"))
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in names}


class Metrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.page = metrics_page()
        cls.exported = set(re.findall(r"^# TYPE (\S+)", cls.page, re.MULTILINE))

    def test_every_metric_is_in_the_handbook(self):
        self.assertGreater(len(self.exported), 20)
        table = [line for line in (ROOT / "docs/operation.md").read_text(encoding="utf-8").splitlines()
                 if re.match(r"\| `(volvox|process)_", line)]  # fmt: skip
        documented = set(re.findall(r"`((?:volvox|process)_[a-z0-9_]+)", "\n".join(line.split("|")[1] for line in table)))
        self.assertEqual(self.exported, documented)

    def test_every_metric_has_help(self):
        self.assertEqual(self.exported, set(re.findall(r"^# HELP (\S+) \S", self.page, re.MULTILINE)))

    def test_dashboard_and_alerts_ask_for_what_there_is(self):
        for path in ("monitoring/grafana/volvox.json", "monitoring/prometheus/alerts.yml"):
            names = names_in(path)
            self.assertGreater(len(names), 3)
            self.assertEqual(names - self.exported, set(), path)

    def test_the_dashboard_is_what_its_script_writes(self):
        script = ROOT / "monitoring/grafana/make_dashboard.py"
        subprocess.run([sys.executable, str(script), "--check"], check=True)


if __name__ == "__main__":
    unittest.main()
