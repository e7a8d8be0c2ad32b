"""The dashboards as Grafana reads them: whole, without two panels in one place, and what they ask can be asked.

Usage: dashboards_test.py [unittest's options]
"""

import itertools
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

GRAFANA = pathlib.Path(__file__).resolve().parents[2] / "monitoring/grafana"
FILES = sorted((GRAFANA / "dashboards").glob("*.json"))
# As https://grafana.com/docs names them; one that Grafana does not know is shown behind the number.
UNITS = {"reqps", "s", "short", "percentunit", "bytes", "ops", "rowsps", "d"}


def cells(panel):
    """The places of the grid that it covers."""
    place = panel["gridPos"]
    return itertools.product(range(place["x"], place["x"] + place["w"]), range(place["y"], place["y"] + place["h"]))


class Dashboards(unittest.TestCase):
    def setUp(self):
        self.dashboards = {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in FILES}
        self.panels = [(name, panel) for name, one in self.dashboards.items() for panel in one["panels"] if panel["type"] != "row"]

    def test_there_is_one_for_each_question(self):
        self.assertEqual(set(self.dashboards), {"cluster", "batching", "node", "sessions"})
        self.assertEqual(len({one["uid"] for one in self.dashboards.values()}), 4)
        self.assertEqual(len({one["title"] for one in self.dashboards.values()}), 4)

    def test_they_are_what_their_script_writes(self):
        subprocess.run([sys.executable, "-B", str(GRAFANA / "make_dashboards.py"), "--check"], check=True)

    def test_panels_have_numbers_and_places_of_their_own(self):
        for name, one in self.dashboards.items():
            numbers = [panel["id"] for panel in one["panels"]]
            self.assertEqual(len(numbers), len(set(numbers)), name)
            taken = [cell for panel in one["panels"] for cell in cells(panel)]
            self.assertEqual(len(taken), len(set(taken)), name)
            self.assertLess(max(x for x, _ in taken), 24, name)

    def test_panels_say_what_they_show_and_in_which_unit(self):
        for name, panel in self.panels:
            place = (name, panel["title"])
            self.assertIn(panel["type"], ("timeseries", "stat", "heatmap"), place)
            self.assertIn(panel["fieldConfig"]["defaults"]["unit"], UNITS, place)
            self.assertTrue(panel["targets"], place)
            letters = [target["refId"] for target in panel["targets"]]
            self.assertEqual(len(letters), len(set(letters)), place)
            if panel["type"] == "timeseries":
                self.assertTrue(all(target["legendFormat"] for target in panel["targets"]), place)

    def test_all_of_it_comes_from_the_source_that_was_chosen(self):
        for name, one in self.dashboards.items():
            variables = one["templating"]["list"]
            self.assertEqual((variables[0]["name"], variables[0]["type"]), ("datasource", "datasource"), name)
            for part in [*variables[1:], *(panel for of, panel in self.panels if of == name)]:
                for asks in (part, *part.get("targets", ())):
                    self.assertEqual(asks["datasource"], {"type": "prometheus", "uid": "${datasource}"}, name)

    def test_variables_that_are_used_are_there(self):
        for name, one in self.dashboards.items():
            known = {variable["name"] for variable in one["templating"]["list"]} | {"__rate_interval"}
            used = set(re.findall(r"\$\{?(\w+)", json.dumps(one["panels"])))
            self.assertEqual(used - known, set(), name)
            self.assertEqual(known - used, set(), name)

    def test_legends_name_labels_by_which_is_summed(self):
        for name, panel in self.panels:
            for target in panel["targets"]:
                for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
                    self.assertRegex(target["expr"], rf"by \([^)]*\b{label}\b", (name, panel["title"]))

    @unittest.skipUnless(shutil.which("promtool"), "there is no promtool here (Debian: prometheus)")
    def test_prometheus_can_read_what_panels_ask(self):
        expressions = [target["expr"].replace("$__rate_interval", "1m") for _, panel in self.panels for target in panel["targets"]]
        rules = [{"record": f"panel:{i}", "expr": expression} for i, expression in enumerate(expressions)]
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "panels.yml"
            for group, fine in ((rules, True), ([{"record": "panel:x", "expr": "sum(("}], False)):
                file.write_text(json.dumps({"groups": [{"name": "panels", "rules": group}]}), encoding="utf-8")
                done = subprocess.run(["promtool", "check", "rules", str(file)], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode == 0, fine, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
