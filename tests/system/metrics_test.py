"""What is said about metrics, against the pages of processes: the handbook, the dashboards, the rules.

Usage: metrics_test.py PATH_OF_VOLVOX [unittest's options]
"""

import itertools
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/measure")]

from cluster_processes import Cluster, Loopback  # noqa: E402
from served import PATIENCE, Server, addresses_in  # noqa: E402
from watched_cluster import encrypt  # noqa: E402

VOLVOX = sys.argv.pop(1)
ROW = re.compile(r"^\| `(?P<name>[a-z0-9_]+)` \| (?P<type>\w+) \| (?P<labels>.*?) \| (?P<meaning>\S.*) \|$", re.MULTILINE)
SAMPLE = re.compile(r'^(?P<name>[a-z0-9_]+)(?:\{(?P<labels>.*)\})? (?P<value>\S+)$')
# Shown once a model has answered so, which it hardly ever does: doors have said it before.
DOORS_OWN = {"unsupported_version", "unauthenticated", "permission_denied"}
RULES = ("monitoring/prometheus/recording.yml", "monitoring/prometheus/alerts.yml")


def selectors(rules):
    """The series that rules select: a name and the labels as they stand on a page, once for each alternative."""
    text = re.sub(r"^ *#.*", "", rules, flags=re.MULTILINE)
    for name, matchers in re.findall(r"(?<![:\w])((?:volvox|process)_[a-z0-9_]+)(?:\{([^}]*)\})?", text):
        wanted = [[f'{label}="{value}"' for value in values.split("|")]
                  for label, values in re.findall(r'(\w+)=~?"(.*?)"', matchers) if label != "job"]  # fmt: skip
        yield from ((name, labels) for labels in itertools.product(*wanted))


class Table:
    """docs/metrics.md: of each metric its type, and its labels with the values that are known beforehand, or none."""

    def __init__(self):
        self.types, self.labels = {}, {}
        for row in ROW.finditer((ROOT / "docs/metrics.md").read_text(encoding="utf-8")):
            labels = re.findall(r"`(\w+)`(?: \((.*?)\))?", row["labels"])
            self.types[row["name"]] = row["type"]
            self.labels[row["name"]] = {label: set(values.split(", ")) if values else None for label, values in labels}


class Page:
    """A page of metrics: the same of what a process shows, with the values that it has."""

    def __init__(self, text):
        self.text = text
        self.types = dict(re.findall(r"^# TYPE (\S+) (\S+)", text, re.MULTILINE))
        self.help = set(re.findall(r"^# HELP (\S+) \S", text, re.MULTILINE))
        self.labels, self.values = {}, {}
        for line in text.splitlines():
            if line.startswith("#"):
                continue
            sample = SAMPLE.match(line)
            family = sample["name"]
            if family not in self.types:
                family = re.sub(r"_(bucket|sum|count)$", "", family)
            labels = dict(re.findall(r'(\w+)="(.*?)"', sample["labels"] or ""))
            labels.pop("le", None)
            known = self.labels.setdefault(family, {})
            for label, value in labels.items():
                known.setdefault(label, set()).add(value)
            self.values[line.rpartition(" ")[0]] = float(sample["value"])


def fresh_server():
    """The page of a server that nobody has asked anything."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(VOLVOX, folder, (("check", "check"),), http="127.0.0.1:0")
        try:
            return Page(server.page())
        finally:
            server.kill()


def fresh_cluster():
    """The pages of a router and of its node, whose links are encrypted."""
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(VOLVOX, folder, Loopback(), "", routers=1, nodes=1)
        cluster.new_model("check", "check")
        encrypt(cluster)
        try:
            cluster.start()
            return [Page(member.text()) for member in (*cluster.routers, *cluster.nodes)]
        finally:
            cluster.end()


def fresh_agent():
    """The page of an agent of the load generator that nobody has asked anything."""
    with tempfile.TemporaryDirectory() as folder:
        ports = pathlib.Path(folder, "ports")
        command = [VOLVOX, "load-agent", "--listen", "127.0.0.1:*", "--target", "tcp://127.0.0.1:7100", "--metrics", "127.0.0.1:0"]
        agent = subprocess.Popen([*command, "--port-file", str(ports)], stdout=subprocess.DEVNULL)
        try:
            _, metrics = addresses_in(ports, agent, 2)
            return Page(urllib.request.urlopen(metrics + "/metrics", timeout=PATIENCE).read().decode())
        finally:
            agent.kill()
            agent.wait()


class Metrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.table = Table()
        cls.server = fresh_server()
        cls.router, cls.node = fresh_cluster()
        cls.pages = [cls.server, cls.router, cls.node, fresh_agent()]

    def test_the_handbook_is_what_the_program_says(self):
        script = ROOT / "monitoring/make_metrics_page.py"
        subprocess.run([sys.executable, str(script), VOLVOX, "--check"], check=True)

    def test_the_handbook_has_what_processes_show(self):
        self.assertGreater(len(self.table.types), 90)
        for page in self.pages:
            for name, kind in page.types.items():
                self.assertEqual(self.table.types[name], kind, name)
            for name, labels in page.labels.items():
                self.assertEqual(self.table.labels[name].keys(), labels.keys(), name)
        shown = set().union(*(page.labels for page in self.pages))
        self.assertEqual(shown, set(self.table.types))

    def test_what_can_happen_is_shown_before_it_does(self):
        for name, labels in self.table.labels.items():
            for label, values in labels.items():
                if values is None:
                    continue
                shown = set().union(*(page.labels.get(name, {}).get(label, set()) for page in self.pages))
                late = DOORS_OWN if name == "volvox_model_requests_total" and label == "outcome" else set()
                self.assertEqual(shown, values - late, f"{name}, {label}")

    def test_every_metric_has_help(self):
        for page in self.pages:
            self.assertEqual(set(page.types), page.help)

    @unittest.skipUnless(shutil.which("promtool"), "there is no promtool here (Debian: prometheus)")
    def test_prometheus_finds_nothing_to_say_against_the_pages(self):
        for page, fine in (*((page.text, True) for page in self.pages), ("volvox_things_total 1", False)):
            done = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode == 0, fine, done.stdout + done.stderr)

    def test_each_process_says_which_it_is_and_when_it_began(self):
        version = subprocess.run([VOLVOX, "--version"], check=True, capture_output=True, text=True).stdout.strip()
        for page in self.pages:
            self.assertEqual(page.values[f'volvox_build_info{{version="{version}"}}'], 1)
            self.assertGreater(page.values["process_start_time_seconds"], 1.6e9)

    def test_links_tell_when_their_certificates_end(self):
        for page in (self.router, self.node):
            begun, ends = (page.values[name] for name in ("process_start_time_seconds", "volvox_certificate_expiry_timestamp_seconds"))
            self.assertGreater(ends, begun + 24 * 3600)
        self.assertNotIn("volvox_certificate_expiry_timestamp_seconds", self.server.values)


    def test_dashboards_ask_for_what_there_is(self):
        files = sorted((ROOT / "monitoring/grafana/dashboards").glob("*.json"))
        names = [name for file in files for name in re.findall(r"(?<![:\w])volvox_[a-z0-9_]+", file.read_text(encoding="utf-8"))]
        asked = {re.sub(r"_(bucket|sum|count)$", "", name) for name in names}
        self.assertGreater(len(asked), 50)
        self.assertEqual(asked - set(self.table.types), set())

    def test_rules_select_series_that_are_there_before_anything_happens(self):
        series = set().union(*(page.values for page in self.pages))
        asked = {selector for name in RULES for selector in selectors((ROOT / name).read_text(encoding="utf-8"))}
        self.assertGreater(len(asked), 20)
        for name, labels in asked:
            found = [one for one in series if one.split("{")[0] == name and all(label in one for label in labels)]
            self.assertTrue(found, (name, labels))

    def test_alerts_use_what_is_recorded(self):
        recording, alerts = ((ROOT / name).read_text(encoding="utf-8") for name in RULES)
        recorded = re.findall(r"record: (\S+)", recording)
        used = set(re.findall(r"\b\w+:volvox_\w+:\w+", alerts))
        self.assertGreater(len(used), 5)
        self.assertEqual(used - set(recorded), set())


if __name__ == "__main__":
    unittest.main()
