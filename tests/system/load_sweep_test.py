"""How much a server takes: `volvox load --sweep` against a server whose capacity is known.

Usage: load_sweep_test.py VOLVOX [unittest's options]
"""

import csv
import html.parser
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from served import Server  # noqa: E402

VOLVOX = sys.argv.pop(1)
PATIENCE = 280
# A task of one step takes 5 ms, whatever is in it, and one row is all that fits: 200 requests of one step a second.
CONFIG = """
[device]
kind = "timed"
timed_task_us = 5000.0
timed_row_us = 0.0
[batching]
max_batch = 1
"""


class Page(html.parser.HTMLParser):
    """Which elements a page has, and whether each was closed where it should be."""

    EMPTY = {"meta", "line", "circle", "polyline", "!doctype"}

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.attributes = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            raise AssertionError(f"</{tag}> closes nothing")


class Sweeps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.server = Server(VOLVOX, cls.folder, [("check", "m")], CONFIG)
        cls.addClassCleanup(cls.server.kill)

    def sweep(self, *options, status=0):
        command = [VOLVOX, "load", "--connect", self.server.endpoint, "--model", "m", "--length", "1", "--sweep", "--json"]
        done = subprocess.run([*command, str(self.folder / "s.json"), *map(str, options)], capture_output=True, text=True,
                              timeout=PATIENCE, check=False)  # fmt: skip
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_what_a_server_takes_is_found(self):
        files = ("--csv", self.folder / "s.csv", "--html", self.folder / "s.html")
        said = self.sweep("--rate", 90, "--arrivals", "constant", "--seconds", 1.5, "--warmup", 0.3, "--slo", "p90=100ms", *files)
        report = json.loads((self.folder / "s.json").read_text(encoding="utf-8"))
        # No more can come back than the device computes; what it computes less is up to the machine.
        self.assertLess(report["saturated_rps"], 205)
        self.assertGreater(report["saturated_rps"], 50)
        self.assertGreater(report["highest_rps"], 0)
        self.assertLess(report["highest_rps"], 215)
        self.assertEqual(report["slo"], {"fraction": 0.9, "bound_ms": 100})
        points = report["points"]
        self.assertEqual([point["rate"] for point in points], sorted(point["rate"] for point in points))
        self.assertTrue(any(point["saturated"] for point in points))
        for point in points:
            self.assertFalse(point["meets_slo"] and point["saturated"])
            self.assertFalse(point["meets_slo"] and point["latency_ms"]["p90"] > 100)
        self.assertIn("p90 within 100 ms", said)
        with open(self.folder / "s.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([float(row["rate"]) for row in rows], [round(point["rate"], 3) for point in points])
        text = (self.folder / "s.html").read_text(encoding="utf-8")
        page = Page(text)
        self.assertEqual(page.open, [])
        self.assertEqual(page.tags.count("svg"), 2)
        self.assertEqual(page.tags.count("circle"), 3 * len(points))
        self.assertFalse({"script", "link", "img", "iframe"} & set(page.tags))
        self.assertFalse({"src", "href"} & {name for name, _ in page.attributes})

    def test_what_cannot_be_swept_is_said(self):
        self.assertIn("an SLO is like", self.sweep("--rate", 9, "--slo", "fast", status=1))
        self.assertIn("an open loop", self.sweep("--concurrency", 9, status=1))
        self.assertIn("leave out the number", self.sweep("--rate", 9, "--requests", 9, "--seconds", 1, status=1))


if __name__ == "__main__":
    unittest.main()
