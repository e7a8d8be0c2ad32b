"""A real Prometheus watches a real cluster under load: what every panel of the dashboards asks, and every rule computes, has data.
Skipped (77) where there is no prometheus; on Debian that is a package.

Usage: watching_test.py PATH_OF_VOLVOX [unittest's options]
"""

import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/measure"), str(ROOT / "monitoring/grafana")]

from cluster_processes import Cluster, Load, Loopback, free_port  # noqa: E402
from make_dashboards import queries  # noqa: E402
from prometheus import PATIENCE, Prometheus, is_here  # noqa: E402

VOLVOX = sys.argv.pop(1)
SKIPPED = 77
LONGEST = "180"  # seconds that the load lasts if nobody ends it
# What Grafana puts in place of its variables when everything is chosen.
CHOSEN = {"$job": ".*", "$instance": ".*", "$model": ".*", "$__rate_interval": "15s"}


def as_grafana_asks(expression):
    for name, value in CHOSEN.items():
        expression = expression.replace(name, value)
    return expression


class Watching(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        folder = pathlib.Path(cls.scratch.name)
        cls.cluster = Cluster(VOLVOX, folder, Loopback(), "", routers=1, nodes=2)
        cls.addClassCleanup(cls.cluster.end)
        cls.cluster.new_model("lstm", "lstm", "--hidden", 16, "--vocabulary", 100)
        keys = folder / "keys"
        subprocess.run([VOLVOX, "keys", str(keys), "--cluster", "r0", "n0", "n1"], check=True, stdout=subprocess.DEVNULL)
        for member in (*cls.cluster.routers, *cls.cluster.nodes):
            own = keys / "cluster" / member.name
            member.command += ["--tls-certificate", f"{own}.crt", "--tls-key", f"{own}.key", "--tls-ca", str(keys / "cluster/ca.crt")]
        cls.cluster.start()
        (router,) = cls.cluster.routers
        for name, load in (("requests", ["--rate", 200]), ("sessions", ["--sessions", 8, "--pause-ms", 20, "--length", 4])):
            running = Load(cls.cluster, name, router.endpoint, "--model", "lstm", "--vocabulary", 100, "--seconds", LONGEST, *load)
            cls.addClassCleanup(running.end)
        jobs = {"volvox": [router.metrics], "volvox-nodes": [node.metrics for node in cls.cluster.nodes]}
        cls.prometheus = Prometheus(folder, jobs, free_port())
        cls.addClassCleanup(cls.prometheus.end)

    def wait_for_data(self, questions):
        """Those that have none when all patience is at an end."""
        left, until = set(questions), time.monotonic() + PATIENCE
        while left and time.monotonic() < until:
            left = {question for question in left if not self.prometheus.query(question)}
            time.sleep(0.2 if left else 0)
        return left

    def test_every_panel_has_data(self):
        asked = {(name, panel.title, expression): as_grafana_asks(expression) for name, panel, expression, _ in queries()}
        self.assertGreater(len(asked), 80)
        empty = self.wait_for_data(asked.values())
        self.assertEqual({place for place, question in asked.items() if question in empty}, set())

    def test_every_recording_rule_has_data(self):
        recorded = [rule for rule in self.prometheus.rules() if rule["type"] == "recording"]
        self.assertGreater(len(recorded), 10)
        self.assertEqual(self.wait_for_data(rule["query"] for rule in recorded), set())
        self.assertEqual(self.wait_for_data(rule["name"] for rule in recorded), set())

    def test_rules_can_be_computed_and_nobody_is_called(self):
        self.assertEqual(self.wait_for_data(["min(up) == 1", "count(up) == 3"]), set())
        for rule in self.prometheus.rules():
            self.assertIn(rule["health"], ("ok", "unknown"), (rule["name"], rule.get("lastError")))
        self.assertEqual(self.prometheus.query('ALERTS{alertstate="firing"}'), [])

    def test_routers_and_nodes_count_the_same_requests_by_their_doors(self):
        doors = 'sum by (job, door) (volvox_model_requests_total{outcome="ok"}) > 0'
        self.assertEqual(self.wait_for_data([doors]), set())
        found = {(labels["job"], labels["door"]) for labels, _ in self.prometheus.query(doors)}
        self.assertEqual(found, {("volvox", "zeromq"), ("volvox-nodes", "cluster")})


if __name__ == "__main__":
    if not is_here():
        print("skipped: there is no prometheus here (Debian: prometheus)")
        sys.exit(SKIPPED)
    unittest.main()
