"""Usage: check_covers_test.py UNIT_GPU

The stages of gpu/check/plan.py name tests by patterns, and GoogleTest takes one that matches nothing for a success: each must
name tests that there are, and together they must name all that run on a GPU. A pattern for suites of many names, as those of fused
kernels and of trees, is for whichever there are.
"""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "gpu/check"))

import plan  # noqa: E402


def matching(program, pattern):
    """The full names of tests."""
    command = [program, "--gtest_list_tests", f"--gtest_filter={pattern}"]
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    found, suite = set(), ""
    for line in printed.splitlines():
        name = line.split("#")[0].rstrip()
        if name.startswith(" "):
            found.add(suite + name.strip())
        elif name.endswith("."):
            suite = name
    return found


def filters(stage):
    return [part.split("=", 1)[1] for part in map(str, stage.command) if part.startswith("--gtest_filter=")]


def main():
    program = sys.argv[1]
    tools = plan.Tools("bench", "tests", "probes", "steps", "lengths")
    calls = {name: [pattern for stage in make(tools) for pattern in filters(stage)] for name, (make, _) in plan.CALLS.items()}
    patterns = {part for found in calls.values() for pattern in found for part in pattern.split(":")}
    named = [pattern for pattern in sorted(patterns) if "*" not in pattern.split(".")[0]]
    bad = [f"{pattern}: no such test" for pattern in named if not matching(program, pattern)]
    on_gpu = matching(program, "*/Gpu:Gpu/*")
    if not on_gpu:
        bad.append("no test runs on a GPU")
    bad += [f"{name}: no stage of B runs it" for name in sorted(on_gpu - matching(program, ":".join(calls["B"])))]
    bad += [f"{name}: runs on the host" for name in sorted(matching(program, ":".join(patterns)) - on_gpu)]
    print("\n".join(bad) if bad else f"{len(on_gpu)} tests in {len(patterns)} patterns")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
