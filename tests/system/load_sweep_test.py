"""How much a server takes: `volvox load --sweep` against a server whose capacity is known.

Usage: load_sweep_test.py VOLVOX [unittest's options]
"""

import csv
import functools
import html.parser
import json
import pathlib
import shutil
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


# What the browser makes of the page: how large each chart is, which texts leave their chart, and which lie on each other.
LOOK = """<script>
const charts = [...document.querySelectorAll("svg")].map(svg => {
  const box = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll("text")].map(text => ({says: text.textContent, at: text.getBoundingClientRect()}));
  const inside = at => at.left >= box.left - 1 && at.right <= box.right + 1 && at.top >= box.top - 1 && at.bottom <= box.bottom + 1;
  const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  const onEachOther = [];
  texts.forEach((a, i) => texts.slice(i + 1).forEach(b => { if (meet(a.at, b.at)) onEachOther.push([a.says, b.says]); }));
  const drawn = [...svg.querySelectorAll("polyline")].filter(line => line.getBoundingClientRect().width > 0).length;
  return {width: box.width, height: box.height, drawn, outside: texts.filter(t => !inside(t.at)).map(t => t.says), onEachOther};
});
const wide = document.documentElement.scrollWidth > innerWidth;
document.body.innerHTML = "<pre id=found></pre>";
document.getElementById("found").textContent = JSON.stringify({charts, wide});
</script>"""


def look(folder, text, width):
    """The page as the browser lays it out, `width` CSS pixels wide."""
    page = folder / "look.html"
    page.write_text(text.replace("</body>", LOOK + "</body>"), encoding="utf-8")
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={folder / 'profile'}",
               f"--window-size={width},900", "--dump-dom", page.as_uri()]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    found = done.stdout.split('<pre id="found">', 1)[1].split("</pre>", 1)[0]
    return json.loads(html.unescape(found))


class Sweeps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.server = Server(VOLVOX, cls.folder, [("check", "m")], CONFIG)
        cls.addClassCleanup(cls.server.kill)

    @classmethod
    def sweep(cls, *options, status=0, report="s.json"):
        command = [VOLVOX, "load", "--connect", cls.server.endpoint, "--metrics", cls.server.metrics, "--model", "m", "--length", "1", "--sweep", "--json"]
        done = subprocess.run([*command, str(cls.folder / report), *map(str, options)], capture_output=True, text=True,
                              timeout=PATIENCE, check=False)  # fmt: skip
        if done.returncode != status:
            raise AssertionError(done.stdout + done.stderr)
        return done.stdout + done.stderr

    @classmethod
    @functools.lru_cache
    def swept(cls):
        """What a sweep has said; its files are s.json, s.csv and s.html."""
        files = ("--csv", cls.folder / "s.csv", "--html", cls.folder / "s.html")
        return cls.sweep("--rate", 90, "--arrivals", "constant", "--seconds", 1.5, "--warmup", 0.3, "--slo", "p90=100ms", *files)

    def test_what_a_server_takes_is_found(self):
        said = self.swept()
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
        self.assertEqual(page.tags.count("svg"), 3)
        self.assertEqual(len(report["batches"]), sum(len(point["windows_rps"]) for point in points))
        for window in report["batches"]:
            self.assertEqual(window["mean_batch"], {"check": 1})
        self.assertEqual(page.tags.count("circle"), 3 * len(points) + len(report["batches"]))
        self.assertFalse({"script", "link", "img", "iframe"} & set(page.tags))
        self.assertFalse({"src", "href"} & {name for name, _ in page.attributes})


    @unittest.skipIf(shutil.which("chromium") is None, "there is no browser (Debian: chromium)")
    def test_a_browser_lays_the_page_out(self):
        self.swept()
        text = (self.folder / "s.html").read_text(encoding="utf-8")
        for width in (1200, 500):
            with self.subTest(width):
                found = look(self.folder, text, width)
                self.assertFalse(found["wide"], "the page is wider than the window")
                self.assertEqual(len(found["charts"]), 3)
                for chart in found["charts"]:
                    self.assertGreater(chart["width"], width / 2)
                    self.assertGreater(chart["height"], 100)
                    self.assertGreater(chart["drawn"], 0)
                    self.assertEqual(chart["outside"], [])
                    self.assertEqual(chart["onEachOther"], [])

    def test_what_cannot_be_swept_is_said(self):
        self.assertIn("an SLO is like", self.sweep("--rate", 9, "--slo", "fast", status=1, report="refused.json"))
        self.assertIn("an open loop", self.sweep("--concurrency", 9, status=1, report="refused.json"))
        self.assertIn("leave out the number", self.sweep("--rate", 9, "--requests", 9, "--seconds", 1, status=1, report="refused.json"))


if __name__ == "__main__":
    unittest.main()
