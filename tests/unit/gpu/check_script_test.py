"""gpu/check.sh as a whole, with stand-ins for the programs that it runs and for the machine's tools."""

import json
import os
import pathlib
import subprocess
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]

# Of volvox-bench: where the JSON goes, then what this stage does.
BENCH = r"""all=" $* "
while [[ $# -gt 0 ]]; do
  [[ "$1" != --json ]] || json=$2
  [[ "$1" != --batch ]] || batch=$2
  [[ "$1" != --path ]] || path=$2
  shift
done
step() {
  printf '{"lstm": [{"hidden": 1024, "batch": %s, "precision": "bfloat16", "path": "%s", "step_us": %s, "task_us": 50, "gemm_us": 10}]}' \
    "$batch" "$path" "$1" >"$json"
}
case "$all" in
  *" --help "*) echo "a stand-in" ;;
  *" --workers 1 "*) echo '{"runs": [{"throughput_rps": 250000, "mean_batch": 256}], "mean_length": 24}' >"$json" ;;
  *" --workers 2 "*) echo '{"runs": "many"}' >"$json" ;;
  *" --workers 3 "*) exit 7 ;;
  *" engine "*) echo '{"runs": [{"latency_ms": {"p90": 9}, "offered_rps": 100}]}' >"$json" ;;
  *" gpu-product "*) echo '{"products": [nonsense' >"$json" ;;
  *" --hidden 64 "*) ;;
  *" gpu "*" 256 "*" fused "*) step 44; echo "last words"; kill -SEGV $$ ;;
  *" gpu "*" 64 "*" generic "*) echo begun; exec sleep 600 ;;
  *" gpu "*" 64 "*" fused "*) yes garbage | head -c 2000000; step 36 ;;
  *" gpu "*" 512 "*" fused "*) head -c 5000000 /dev/zero | tr '\0' 1 >"$json" ;;
  *" gpu "*) step 40 ;;
esac
"""

TESTS = r"""
for argument in "$@"; do
  case "$argument" in --gtest_output=xml:*) xml=${argument#*xml:} ;; esac
done
case "$*" in
  *--gtest_list_tests*) ;;
  *RunLstm*RunRaggedTrees*.xml) echo '<r><testcase classname="All/GpuCells" name="RunLstms/Gpu"><failure/></testcase></r>' >"$xml"; exit 1 ;;
  *DeviceConformance*) echo '<r><testcase classname="Gpu" name="Good"/></r>' >"$xml" ;;
  *Chains*) echo '<r><testca' >"$xml" ;;
  *RunConvolutions*) echo '<r/>' >"$xml" ;;
  *RunCellsOfAnyOperators*) kill -ABRT $$ ;;
  *.xml) echo '<r><testcase classname="All" name="Skipped" result="skipped"/></r>' >"$xml" ;;
esac
"""

STEPS = """echo '{"steps": [{"rows": 64, "width": 1024, "tile": 64, "split": 2, "early_us": 7}, {"rows": "few"}]}' >"$1"\n"""
PROBES = """echo '{"gpu": "a stand-in", "probes": [{"name": "launch_gap_us", "value": 2}, {"name": "hbm_read_gb_s", "value": "fast"}, 5]}' >"$1"\n"""

# A PyTorch that sees no GPU.
TORCH = "class cuda:\n    is_available = staticmethod(lambda: False)\n"


class Script(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out, self.pack = self.folder / "out", self.folder / "pack"
        for name, script in (("volvox-bench", BENCH), ("unit_gpu", TESTS), ("volvox-gpu-probes", PROBES), ("volvox-gpu-steps", STEPS)):
            self.program(f"pack/bin/{name}", script)
        (self.pack / "lengths.txt").write_text("24\n")
        self.program("tools/torch.py", TORCH)
        for tool in ("nvidia-smi", "ldd", "nvcc", "g++", "cmake", "ninja", "make", "ldconfig", "compute-sanitizer", "ncu"):
            self.program(f"tools/{tool}", f"echo {tool} of the stand-in\n")

    def program(self, path, text):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text if path.endswith(".py") else f"#!/usr/bin/env bash\n{text}")
        file.chmod(0o755)

    def check(self, *arguments):
        """Runs the script; what it printed, and what it left."""
        tools = self.folder / "tools"
        command = [ROOT / "gpu/check.sh", *arguments, "--with", self.pack, "--box", "2"]
        ended = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(tools), "OUT": str(self.out)},
            check=False,
        )
        self.assertTrue((self.out / "summary.json").exists(), ended.stdout)
        self.assertLessEqual(len(list(self.out.iterdir())), 8)
        return ended, json.loads((self.out / "summary.json").read_text(encoding="utf-8"))

    def statuses(self, found):
        return {name: row["status"] for name, row in found["stages"].items() if row["status"] != "ok"}

    def test_whatever_the_programs_do_the_account_is_right(self):
        ended, found = self.check("A")
        self.assertEqual(ended.returncode, 1, ended.stdout)
        self.assertEqual(
            self.statuses(found),
            {
                "test-kernels": "failed",
                "products": "failed",
                "step-fused-256-bfloat16": "crashed",
                "torch": "failed",
                "step-generic-64-bfloat16": "timed out",
                "step-fused-512-bfloat16": "failed",
                "completion": "failed",
            },
        )
        self.assertEqual(found["failed"], [*self.statuses(found), "All/GpuCells.RunLstms/Gpu"])
        self.assertEqual(found["figures"]["step_us fused b256"], {"is": 44, "predicted": [40, 48]}, "written before the crash")
        self.assertEqual(found["figures"]["step / product fused b64"]["is"], 3.6)
        self.assertEqual(found["figures"]["probe launch_gap_us"], {"is": 2, "predicted": [1, 2.5]})
        for name in ("step_us generic b64", "step_us fused b512", "probe hbm_read_gb_s", "product_us b64 k2048"):
            self.assertIn(name, found["not_measured"])
        self.assertIn("no JSON", found["stages"]["products"]["why"])
        self.assertIn("no result", found["stages"]["completion"]["why"])
        with tarfile.open(self.out / "logs.tar.gz") as logs:
            self.assertIn(b"last words", logs.extractfile("step-fused-256-bfloat16.log").read())
            self.assertIn(b"begun", logs.extractfile("step-generic-64-bfloat16.log").read())
            self.assertIn(b"bytes left out", logs.extractfile("step-fused-64-bfloat16.log").read())
            self.assertIn(b"nvidia-smi of the stand-in", logs.extractfile("machine.log").read())
        self.assertIn("| step_us fused b256 | 44 | 40 to 48 |", (self.out / "table.md").read_text(encoding="utf-8"))

    def test_the_second_call_goes_on_from_the_first(self):
        before = self.folder / "before.json"
        step = {"hidden": 1024, "batch": 256, "precision": "bfloat16", "path": "fused", "step_us": 44, "gemm_us": 10}
        half = {"rate_rps": 100, "p90_ms": 36}
        before.write_text(
            json.dumps(
                {
                    "stages": {
                        "step-fused-256-bfloat16": {"status": "crashed", "result": {"lstm": [step]}},
                        "torch": {"status": "ok", "result": {"saturated_rps": 125000, "half_load": half}},
                    }
                }
            ),
            encoding="utf-8",
        )
        ended, found = self.check("B", "--after", str(before))
        self.assertEqual(ended.returncode, 1, ended.stdout)
        bad = {"test-any-operators": "crashed", "folded-3": "failed", "backlog-3": "failed", "torch-shapes": "failed"}
        carried = {"step-fused-256-bfloat16": "carried", "torch": "carried"}
        self.assertEqual(self.statuses(found), {**carried, **bad})
        skipped = ["All.Skipped"] * 5
        tests = ["chains.xml: no report", "convolutions.xml: no test ran", *skipped]
        self.assertCountEqual(found["failed"], [*bad, *tests])
        figures = {name: row["is"] for name, row in found["figures"].items()}
        self.assertEqual(figures["requests_per_second / PyTorch's"], 2)
        self.assertEqual(figures["half load p90 / PyTorch's"], 0.25)
        self.assertEqual(figures["step_us fused b256"], 44)
        self.assertAlmostEqual(figures["busy backlog"], 250000 * 24 / 256 * 10e-6)

    def test_programs_that_start_nowhere_are_told_with_why(self):
        for name in ("volvox-bench", "unit_gpu"):
            self.program(f"pack/bin/{name}", "echo no such library >&2\nexit 127\n")
        self.program("tools/cmake", "echo no compiler\nexit 1\n")
        ended, found = self.check("A")
        self.assertEqual(ended.returncode, 1, ended.stdout)
        self.assertIn("building them", ended.stdout)
        self.assertEqual((self.out / "build.log").read_text(encoding="utf-8"), "no compiler\n")
        self.assertEqual(found["stages"]["start-up"]["why"], "status 127")
        self.assertEqual(found["figures"]["probe launch_gap_us"]["is"], 2, "what starts is run")

    def test_programs_that_start_only_when_built_there_are_built_there(self):
        (self.pack / "bin/volvox-bench").unlink()
        self.program("built", BENCH.replace("exec sleep 600", "exit 5"))
        # cmake --build FOLDER …
        self.program("tools/cmake", f'[[ "$1" == --build ]] || exit 0\nmkdir -p "$2"\ncp {self.folder}/built "$2/volvox-bench"\n')
        ended, found = self.check("A")
        self.assertIn("building them", ended.stdout)
        self.assertEqual(found["stages"]["step-generic-256-bfloat16"]["status"], "ok")

    def test_without_a_pack_the_machine_is_still_told(self):
        self.pack = self.folder / "nothing"
        self.program("tools/cmake", "exit 1\n")
        ended, found = self.check("A")
        self.assertIn("was it carried here?", ended.stdout)
        self.assertEqual(found["stages"]["machine"]["status"], "ok")
        self.assertEqual(found["stages"]["probes"]["status"], "failed")

    @unittest.skipIf(os.path.exists("/dev/nvidiactl"), "this machine has a driver")
    def test_where_there_is_no_gpu_it_says_so(self):
        self.program("tools/nvidia-smi", "echo no devices were found\nexit 6\n")
        ended, found = self.check("A")
        self.assertEqual(ended.returncode, 3, ended.stdout)
        self.assertEqual(found["failed"], ["there is no GPU here: no-gpu.log"])
        self.assertIn("no devices were found", (self.out / "no-gpu.log").read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
