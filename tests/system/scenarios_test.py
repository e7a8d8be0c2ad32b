"""The papers' experiments: each file says what a scenario may say, and one is run, small, to its report and its picture.

Usage: scenarios_test.py VOLVOX SANITIZERS [unittest's options]
SANITIZERS: "sanitizers:" and those that the executable was built with.
"""

import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "loadgen" / "scenarios"
VOLVOX, SANITIZERS = sys.argv.pop(1), sys.argv.pop(1).removeprefix("sanitizers:")
# They ask for more than a cluster can do. With threads watched it is so slow then that its members take each other for dead.
saturates = unittest.skipIf(SANITIZERS == "thread", "ThreadSanitizer makes saturated clusters fall apart")
PATIENCE = 280
sys.path.insert(0, str(FOLDER))

import run as scenarios  # noqa: E402


class Files(unittest.TestCase):
    def test_every_scenario_can_be_read(self):
        known = scenarios.scenarios()
        self.assertIn("figure7", known)
        for path in known.values():
            scenarios.read_scenario(path)

    def test_what_no_scenario_says_is_refused(self):
        good = (FOLDER / "figure9.toml").read_text(encoding="utf-8")
        for text, why in ((good.replace("title", "titel"), "titel"), (good.replace('"low"', '"high"'), "measure"),
                          (good.replace('name = "padded"', 'name = "cellular"'), "a name of its own"),
                          (good.replace('name = "padded"', 'name = "other"'), "called padded"),
                          (good.replace('measure', 'base = "other"\nmeasure'), "called other"),
                          (good.replace('paper = ', 'longest = 3 # '), "paper is missing")):
            with tempfile.TemporaryDirectory() as folder, self.subTest(why):
                path = pathlib.Path(folder) / "some.toml"
                path.write_text(text, encoding="utf-8")
                with self.assertRaisesRegex(scenarios.Failed, why):
                    scenarios.read_scenario(path)

    def test_complete_trees(self):
        self.assertEqual(scenarios.complete_tree(1), "(0 w)")
        self.assertEqual(scenarios.complete_tree(4), "(0 (0 (0 w) (0 w)) (0 (0 w) (0 w)))")
        for leaves in (0, 3, 12):
            with self.subTest(leaves=leaves), self.assertRaisesRegex(scenarios.Failed, "leaves"):
                scenarios.complete_tree(leaves)

    def test_ratios_are_to_the_base(self):
        def server(rps):
            times = {"p50": 1, "p90": 2, "p99": 9}
            load = {"throughput_rps": rps, "errors": {}, "latency_ms": times, "queue_ms": times, "compute_ms": times}
            return {"saturated": {"throughput_rps": rps}, "loads": {"0.5": load}}
        summary = scenarios.summarise([{"cellular": server(100), "other": server(50)}], "cellular")
        self.assertEqual(summary["other"]["saturated_ratio"]["median"], 0.5)
        self.assertIn("of cellular's", scenarios.table(summary, "curve", "cellular"))

    def test_spreads_and_ratios_are_of_one_round(self):
        def server(rps, p90):
            times = {"p50": 1, "p90": p90, "p99": 9}
            load = {"throughput_rps": rps, "errors": {"LOST": 1}, "latency_ms": times, "queue_ms": times, "compute_ms": times}
            return {"saturated": {"throughput_rps": rps}, "loads": {"0.5": load}}
        rounds = [{"padded": server(100, 4), "cellular": server(200, 2)}, {"padded": server(50, 8), "cellular": server(150, 2)},
                  {"padded": server(200, 4), "cellular": server(200, 4)}]
        cellular = scenarios.summarise(rounds)["cellular"]
        self.assertEqual(cellular["saturated_ratio"], {"median": 2, "least": 1, "most": 3})
        self.assertEqual(cellular["saturated_rps"], {"median": 200, "least": 150, "most": 200})
        self.assertEqual(cellular["loads"]["0.5"]["p90_ratio"], {"median": 0.5, "least": 0.25, "most": 1})
        self.assertEqual(cellular["loads"]["0.5"]["failed"], 3)


class Small(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def run_one(self, name, *options):
        command = [sys.executable, str(FOLDER / "run.py"), name, "--volvox", VOLVOX, "--hidden", "8", "--vocabulary", "50", "--max-batch", "4", "--rounds", "1",
                   "--seconds", "1", "--out", str(self.folder / "out"), *options]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)

    @saturates
    def test_real_lengths_to_a_picture(self):
        lengths = self.folder / "mt_lengths.europarl_de_en.tsv"
        lengths.write_text("3\t4\n70\t2\n5\t5\n", encoding="utf-8")
        done = self.run_one("figure11-50", "--data", str(self.folder))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("| cellular | 0.5 |", done.stdout)
        report = json.loads((self.folder / "out" / "figure11-50.json").read_text(encoding="utf-8"))
        self.assertEqual(report["data"], "mt_lengths.europarl_de_en.tsv: 2 sentences, of at most 50 words")
        for server in ("cellular", "padded"):
            self.assertGreater(report["summary"][server]["saturated_rps"]["median"], 0)
            self.assertEqual(report["summary"][server]["loads"]["0.25"]["failed"], 0)
        if importlib.util.find_spec("matplotlib") is None:
            self.skipTest("python3-matplotlib is not installed: nothing was drawn")
        drawn = subprocess.run([sys.executable, str(FOLDER.parent / "plot.py"), str(self.folder / "out" / "figure11-50.json")],
                               capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(drawn.returncode, 0, drawn.stderr)
        self.assertEqual((self.folder / "out" / "figure11-50.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")

    @saturates
    def test_answers_as_long_as_their_pair_says(self):
        (self.folder / "mt_lengths.europarl_de_en.tsv").write_text("3\t9\n7\t2\n5\t5\n", encoding="utf-8")
        done = self.run_one("figure13", "--data", str(self.folder), "--shares", "0.25")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads((self.folder / "out" / "figure13.json").read_text(encoding="utf-8"))
        self.assertEqual(report["data"], "mt_lengths.europarl_de_en.tsv: 3 pairs of sentences")
        for server in ("cellular", "padded"):
            self.assertEqual(list(report["summary"][server]["loads"]), ["0.25"], "of the shares, the one that was asked for")
            self.assertEqual(report["summary"][server]["loads"]["0.25"]["failed"], 0)

    @saturates
    def test_bursts(self):
        done = self.run_one("burst")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("lengths drawn by the load generator", done.stdout)
        self.assertIn("| cellular | burst |", done.stdout)
        report = json.loads((self.folder / "out" / "burst.json").read_text(encoding="utf-8"))
        for server in ("cellular", "padded"):
            # A burst may be more than a slow machine takes in; nothing else may be wrong with it.
            self.assertLessEqual(set(report["rounds"][0][server]["loads"]["burst"]["errors"]), {"OVERLOADED"})

    def test_errors_say_what_to_do(self):
        for options, why in ((("figure11-50",), "--data"), (("figure13",), "--data"), (("figure99",), "figure7"), ((), "--list"),
                             (("figure7", "--data", "/nowhere"), "No such file"), (("figure7", "--rounds", "0"), "positive"),
                             (("figure7", "--shares", "0.5", "0"), "positive"),
                             (("figure7", "--volvox", "/nowhere"), "--volvox")):
            with self.subTest(options=options):
                done = subprocess.run([sys.executable, str(FOLDER / "run.py"), "--volvox", VOLVOX, *options], capture_output=True, text=True, timeout=PATIENCE,
                                      check=False)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(why, done.stderr)
                self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
