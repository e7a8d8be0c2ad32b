"""A real Prometheus watches a real cluster under load: what every panel of the dashboards asks, and every rule computes, has data.
Skipped (77) where there is no prometheus; on Debian that is a package.

Usage: watching_test.py PATH_OF_VOLVOX [unittest's options]
"""

import pathlib
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "monitoring/grafana")]

from make_dashboards import queries  # noqa: E402
from prometheus import PATIENCE, is_here  # noqa: E402
from watched_cluster import WatchedCluster, as_grafana_asks  # noqa: E402

VOLVOX = sys.argv.pop(1)
SKIPPED = 77
LONGEST = "180"  # seconds that the load lasts if nobody ends it
# Those that say that something is broken, which no slow machine makes of a cluster that is well.
BROKEN = ("VolvoxInternalErrors", "VolvoxSessionsLost", "VolvoxActorsFail", "VolvoxDeviceErrors", "VolvoxDeviceDown",
          "VolvoxKeysUnreadable", "VolvoxCertificateExpires", "VolvoxCertificateExpiresSoon")  # fmt: skip


class Watching(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        watched = WatchedCluster(VOLVOX, scratch.name, [("lstm", "lstm", "--hidden", 16, "--vocabulary", 100)])
        cls.addClassCleanup(watched.end)
        cls.prometheus = watched.prometheus
        common = ("--model", "lstm", "--vocabulary", 100, "--seconds", LONGEST)
        watched.load(*common, "--rate", 200)
        watched.load(*common, "--sessions", 8, "--pause-ms", 20, "--length", 4)

    def wait_for_data(self, questions):
        """Those that have none when all patience is at an end."""
        left, until = set(questions), time.monotonic() + PATIENCE
        while left and time.monotonic() < until:
            left = {question for question in left if not self.prometheus.query(question)}
            time.sleep(0.2 if left else 0)
        return left

    def test_every_panel_has_data(self):
        asked = {(name, panel.title, expression): as_grafana_asks(name, expression) for name, panel, expression, _ in queries()}
        self.assertGreater(len(asked), 80)
        empty = self.wait_for_data(asked.values())
        self.assertEqual({place for place, question in asked.items() if question in empty}, set())

    def test_every_recording_rule_has_data(self):
        recorded = [rule for rule in self.prometheus.rules() if rule["type"] == "recording"]
        self.assertGreater(len(recorded), 10)
        self.assertEqual(self.wait_for_data(rule["query"] for rule in recorded), set())
        self.assertEqual(self.wait_for_data(rule["name"] for rule in recorded), set())

    def test_rules_can_be_computed_and_none_says_that_something_is_broken(self):
        self.assertEqual(self.wait_for_data(["min(up) == 1", "count(up) == 3"]), set())
        for rule in self.prometheus.rules():
            self.assertIn(rule["health"], ("ok", "unknown"), (rule["name"], rule.get("lastError")))
        alerts = self.prometheus.query("ALERTS")
        self.assertEqual([labels for labels, _ in alerts if labels["alertname"] in BROKEN], [])

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
