"""The check of a GPU machine with stand-ins for its programs: whatever one of them does, the account stays right."""

import json
import os
import pathlib
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "gpu/check"))

import plan  # noqa: E402
import stages  # noqa: E402
import summary  # noqa: E402

STEP = {"hidden": 1024, "batch": 256, "precision": "bfloat16", "path": "fused", "step_us": 44.0, "task_us": 50.0, "gemm_us": 9.0}


def python(code, *arguments):
    return [sys.executable, "-c", code, *arguments]


WRITES = "import pathlib, sys; pathlib.Path(sys.argv[2]).write_text(sys.argv[1])"


class Stages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.out, self.work = pathlib.Path(self.folder.name, "out"), pathlib.Path(self.folder.name, "work")

    def run_stages(self, *given, limit_s=60):
        runner = stages.Runner(self.out, self.work, limit_s, lambda found: summary.account(found, self.work), summary.table,
                               lambda line: None)  # fmt: skip
        runner.run(given)
        return json.loads((self.out / "summary.json").read_text(encoding="utf-8"))

    def test_one_bad_program_after_the_other_leaves_a_right_account(self):
        good = stages.Stage("step-fused-256-bfloat16", 10, python(WRITES, json.dumps({"lstm": [STEP]}), "{result}"))
        found = self.run_stages(
            stages.Stage("crashes", 10, python("import os, signal; print('last words', flush=True); os.kill(os.getpid(), signal.SIGSEGV)")),
            stages.Stage("hangs", 2, python("import time; print('begun', flush=True); time.sleep(60)")),
            stages.Stage("garbage", 10, python(WRITES, "{\"lstm\": [1, nonsense", "{result}")),
            stages.Stage("another-shape", 10, python(WRITES, "[[\"lstm\"], 7]", "{result}")),
            stages.Stage("step-odd", 10, python(WRITES, json.dumps({"lstm": [7, {"batch": "many"}, {"step_us": None}]}), "{result}")),
            stages.Stage("nothing", 10, python("pass", "{result}")),
            stages.Stage("too-much", 20, python("for _ in range(300): print('x' * 65536)")),
            stages.Stage("too-large", 10, python("import sys; open(sys.argv[1], 'w').write('1' * (5 << 20))", "{result}")),
            stages.Stage("missing", 10, ["/no/such/program"]),
            good,
        )
        status = {name: row["status"] for name, row in found["stages"].items()}
        self.assertEqual(status, {"crashes": "crashed", "hangs": "timed out", "garbage": "failed", "another-shape": "ok", "step-odd": "ok",
                                  "nothing": "failed", "too-much": "ok", "too-large": "failed", "missing": "failed",
                                  "step-fused-256-bfloat16": "ok"})  # fmt: skip
        self.assertEqual(found["stages"]["crashes"]["why"], "signal 11")
        self.assertEqual(found["figures"]["step_us fused b256"], {"is": 44.0, "predicted": [40, 48]})
        self.assertAlmostEqual(found["figures"]["step / product fused b256"]["is"], 44 / 9)
        self.assertEqual(found["failed"], ["crashes", "hangs", "garbage", "nothing", "too-large", "missing"])
        self.assertIn("requests_per_second backlog", found["not_measured"])
        self.assertIn("| step_us fused b256 | 44 | 40 to 48 |", (self.out / "table.md").read_text(encoding="utf-8"))
        self.assertLessEqual(len(list(self.out.iterdir())), 8)
        with tarfile.open(self.out / "logs.tar.gz") as logs:
            self.assertIn(b"last words", logs.extractfile("crashes.log").read())
            self.assertIn(b"begun", logs.extractfile("hangs.log").read())
            long = logs.extractfile("too-much.log").read()
        self.assertLess(len(long), stages.LOG_HEAD + stages.LOG_TAIL + 200)
        self.assertIn(b"bytes left out", long)

    def test_what_was_measured_before_a_crash_is_kept(self):
        code = WRITES + "; import os; os.abort()"
        found = self.run_stages(stages.Stage("step-x", 10, python(code, json.dumps({"lstm": [STEP]}), "{result}")))
        self.assertEqual(found["stages"]["step-x"]["status"], "crashed")
        self.assertIn("step_us fused b256", found["figures"])

    def test_the_account_is_whole_after_each_stage(self):
        seen = []
        look = lambda line: seen.append((self.out / "summary.json").exists() and json.loads((self.out / "summary.json").read_text()))  # noqa: E731
        runner = stages.Runner(self.out, self.work, 60, lambda found: {}, summary.table, look)
        runner.run([stages.Stage(name, 10, python("pass")) for name in "abc"])
        self.assertEqual([sorted(found["stages"]) if found else None for found in seen], [None, ["a"], ["a", "b"]])

    def test_an_account_that_fails_keeps_the_stages(self):
        def fails(_found):
            raise KeyError("a figure")

        runner = stages.Runner(self.out, self.work, 60, fails, say=lambda line: None)
        runner.run([stages.Stage("a", 10, python("pass"))])
        found = json.loads((self.out / "summary.json").read_text())
        self.assertEqual(found["stages"]["a"]["status"], "ok")
        self.assertIn("a figure", found["account_failed"])

    def test_children_of_a_stage_end_with_it(self):
        # As long as the child lives it holds the pipe, and nobody has read its last byte.
        pipe = self.folder.name + "/pipe"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        child = f"import os, time; f = os.open({pipe!r}, os.O_WRONLY); os.write(f, b'begun'); print('begun', flush=True); time.sleep(60); os.write(f, b'ended')"
        code = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {child!r}], stdout=subprocess.PIPE).stdout.readline()"
        self.run_stages(stages.Stage("parent", 20, python(code)))
        os.set_blocking(reader, True)
        self.assertEqual(b"".join(iter(lambda: os.read(reader, 16), b"")), b"begun")

    def test_stages_wait_for_what_they_need_and_stand_in_for_what_failed(self):
        found = self.run_stages(
            stages.Stage("a", 10, python("raise SystemExit(3)")),
            stages.Stage("b", 10, python("pass"), needs=("a",)),
            stages.Stage("c", 10, python("pass"), instead_of="a"),
            stages.Stage("d", 10, python("pass"), instead_of="c"),
        )["stages"]
        self.assertEqual([found[name]["status"] for name in "abcd"], ["failed", "skipped", "ok", "skipped"])
        self.assertEqual(found["a"]["why"], "status 3")

    def test_nothing_begins_without_time(self):
        found = self.run_stages(stages.Stage("a", 10, python("pass")), limit_s=10)["stages"]
        self.assertEqual(found["a"], {"status": "skipped", "why": "no time is left"})


class Plan(unittest.TestCase):
    def test_boxes_fit_their_calls(self):
        tools = plan.Tools("bench", "tests", "probes", "steps", "lengths")
        for name, (make, limit) in plan.CALLS.items():
            made = make(tools)
            names = [stage.name for stage in made]
            self.assertEqual(len(names), len(set(names)), name)
            # Boxes are for the worst; what matters most must fit even if everything before it takes its whole box.
            first = {"A": "step-generic-256-bfloat16", "B": "test-any-operators"}[name]
            self.assertLess(sum(stage.seconds for stage in made[: names.index(first) + 1]), limit, name)

    def test_each_prediction_has_a_figure_that_could_be_measured(self):
        tools = plan.Tools("bench", "tests", "probes", "steps", "lengths")
        named = {stage.name for make, _ in plan.CALLS.values() for stage in make(tools)}
        self.assertTrue({"products", "probes", "torch", "backlog-1", "step-fused-512-bfloat16"} <= named)
        stand_in = {
            "products": {"products": [{"batch": b, "width": 2048, "precision": "bfloat16", "us": 9} for b in plan.BATCHES]},
            "torch": {"saturated_rps": 2},
            "backlog-1": {"runs": [{"throughput_rps": 1, "host_ns_per_cell": 1}], "mean_length": 24},
            "probes": {"probes": [{"name": name.removeprefix("probe "), "value": 1} for name in summary.predictions() if name.startswith("probe ")]},
        }
        steps = [{**STEP, "batch": b, "path": path} for b in plan.BATCHES for path in plan.PATHS]
        stand_in |= {f"step-{row['path']}-{row['batch']}": {"lstm": [row]} for row in steps}
        with tempfile.TemporaryDirectory() as work:
            found = summary.account({name: {"status": "ok", "result": result} for name, result in stand_in.items()}, work)
        self.assertEqual(found["not_measured"], [])


if __name__ == "__main__":
    unittest.main()
