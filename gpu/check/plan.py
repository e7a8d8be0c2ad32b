"""What the two calls on a machine with a GPU run, the most telling first. Times are boxes in seconds; see docs/gpu.md."""

import dataclasses
import pathlib
import shlex
import sys

from stages import Stage

HERE = pathlib.Path(__file__).resolve().parent
HOPPER = (HERE / "hopper_steps.cu").exists()  # what is measured of the kernels for Hopper alone
BATCHES, OLD_BATCH, PATHS = (64, 256, 512), 256, ("generic", "fused")
STEPS = 24  # of a translation
# Suites of unit_gpu's half that runs on a GPU, those first that prove that anything works.
SUITES = (
    ("conformance", "Gpu/DeviceConformance.*", 60),
    ("lstms", "All/GpuCells.RunLstms/Gpu:All/Fused*.*/Gpu", 45),
    ("trees", "All/GpuTrees*.*/Gpu", 45),
    ("chains", "All/Gpu*Chains.*/Gpu", 60),
    ("neighbours", "All/GpuCells.*Neighbours/Gpu:All/GpuCells.*BatchSize/Gpu", 30),
    ("folding", "All/GpuFolding.*/Gpu", 30),
    ("convolutions", "All/GpuCells.RunConvolutions/Gpu", 30),
    ("any-operators", "All/GpuCells.RunCellsOfAnyOperators/Gpu", 60),
    ("compiled", "All/GpuCells.CompiledStages*/Gpu", 60),
)
# A few small tests: sanitizers slow everything down by tens of times.
FEW = "Gpu/DeviceConformance.*/Programs:All/Fused*.*/Gpu:All/GpuTrees*.RunRaggedTrees/Gpu"


@dataclasses.dataclass
class Tools:
    """What was carried here, or built here."""

    bench: str
    tests: str
    probes: str
    steps: str
    lengths: str
    trees: str = ""
    half_rate: float = 0  # half of what PyTorch reached, requests a second; 0: not known


def machine():
    """Everything that may explain a failure, in one log."""
    script = (
        "nvidia-smi -q; nvidia-smi --query-gpu=name,compute_cap,driver_version --format=csv,noheader; uname -a; nproc; free -g; "
        "for tool in nvcc g++ cmake ninja make python3 compute-sanitizer ncu; do command -v $tool && $tool --version; done; "
        "ls /usr/local/cuda/include/cublasLt.h /usr/local/cuda/include/nvtx3 /usr/local/cuda/lib64/libcublasLt.so* /usr/include/cudnn.h; "
        "ldconfig -p | grep -E 'cublasLt|cudnn|nvrtc'; true"
    )
    return Stage("machine", 30, ["bash", "-c", script])


def start_up(tools):
    """That programs built elsewhere start here."""
    bench, tests = shlex.quote(tools.bench), shlex.quote(tools.tests)
    programs = shlex.join([tools.bench, tools.tests, tools.probes, *[tools.steps] * HOPPER])
    script = f"{bench} --help && {tests} --gtest_list_tests > /dev/null && ldd {programs}"
    return Stage("start-up", 20, ["bash", "-c", script])


def test(tools, name, suite, seconds):
    return Stage(f"test-{name}", seconds, [tools.tests, f"--gtest_filter={suite}", f"--gtest_output=xml:{name}.xml"])


def steps(tools, path, batch, precision="bfloat16", seconds=25):
    command = [tools.bench, "gpu", "--hidden", 1024, "--batch", batch, "--precision", precision, "--path", path]
    return Stage(f"step-{path}-{batch}-{precision}", seconds, [*command, "--completion-us", 0, "--json", "{result}"])


def torch(tools):
    return Stage("torch", 90, [sys.executable, HERE / "peer_torch.py", "--lengths", tools.lengths, "--json", "{result}"])


def engine(tools, fold):
    command = [tools.bench, "engine", "--device", "gpu", "--precision", "bfloat16", "--hidden", 1024, "--policy", "cellular"]
    return [*command, "--max-batch", 512, "--lengths", tools.lengths, "--repeat", 1, "--fold", "on" if fold else "off"]


def backlog(tools, workers, fold=False, seconds=8):
    """As much as it takes. With `fold` the input's half of the product comes from a table made at load."""
    command = [*engine(tools, fold), "--workers", workers, "--backlog", "--seconds", seconds]
    return Stage(f"{'folded' if fold else 'backlog'}-{workers}", seconds + 35, [*command, "--json", "{result}"])


def shapes(tools):
    """PyTorch over trees, and as a translator."""
    trees = ["--trees", tools.trees] if tools.trees else []
    return Stage("torch-shapes", 90, [sys.executable, HERE / "peer_shapes.py", "--lengths", tools.lengths, *trees, "--steps", STEPS,
                                      "--json", "{result}"])  # fmt: skip


def shape(tools, kind, policy, seconds=6):
    """The same by the engine, all of it backlogged."""
    over = ["--trees", tools.trees] if tools.trees and kind == "tree_lstm" else ["--lengths", tools.lengths]
    command = [tools.bench, "engine", "--device", "gpu", "--precision", "bfloat16", "--kind", kind, "--hidden", 1024, "--steps", STEPS, *over]
    command += ["--policy", *policy, "--backlog", "--repeat", 1, "--seconds", seconds, "--warm-up", 0.5]
    return Stage(f"shape-{kind}", seconds * len(policy) + 40, [*command, "--json", "{result}"])


def half_load(tools, seconds=10):
    """At half of PyTorch's rate, where it is known, else at half of its own."""
    command = [*engine(tools, fold=True), "--seconds", seconds]
    command += ["--rate", tools.half_rate] if tools.half_rate else ["--rate-of", "cellular:0.5", "--backlog"]
    return Stage("half-load", 2 * seconds + 30, [*command, "--json", "{result}"])


def sanitizer(tools, tool, tests, seconds):
    command = ["compute-sanitizer", "--tool", tool, "--error-exitcode", 9, tools.tests, f"--gtest_filter={tests}"]
    return Stage(tool, seconds, command)


def races(tools):
    """Of each kernel for Hopper's steps, one launch: looking for races slows everything down by hundreds of times."""
    return Stage("racecheck", 60, ["compute-sanitizer", "--tool", "racecheck", "--error-exitcode", 9, tools.steps, "--once"])


def profiler(tools):
    """Last: it may need rights that are missing, and it slows down what it looks at."""
    command = ["ncu", "--clock-control", "none", "--set", "full", "-k", "regex:kernel|resolve|pointwise", "-c", 6, tools.bench]
    command += ["gpu", "--hidden", 1024, "--batch", OLD_BATCH, "--path", "generic", "fused", "--seconds", 0.05, "--completion-us", 0]
    return Stage("profiler", 60, command)


def call_a(tools):
    """Does it run at all, what does the machine cost, and where does each kernel stand beside its product."""
    return [
        machine(),
        start_up(tools),
        *[Stage("steps", 40, [tools.steps, "{result}"])] * HOPPER,
        test(tools, "kernels", "All/Fused*.*/Gpu:All/GpuCells.RunLstms/Gpu:All/GpuTrees*.RunRaggedTrees/Gpu", 60),
        Stage("products", 60, [tools.bench, "gpu-product", "--batch", *BATCHES, "--width", 1024, 2048, "--outputs", 4096,
                               "--precision", "bfloat16", "tf32", "--json", "{result}"]),
        *(steps(tools, path, OLD_BATCH) for path in PATHS),
        Stage("probes", 45, [tools.probes, "{result}"]),
        torch(tools),
        *(steps(tools, path, batch) for batch in BATCHES if batch != OLD_BATCH for path in PATHS),
        Stage("completion", 20, [tools.bench, "gpu", "--hidden", 64, "--batch", 16, "--path", "generic", "--json", "{result}"]),
    ]  # fmt: skip


def call_b(tools):
    """What is right, suite by suite, and what the engine makes of it."""
    return [
        *(test(tools, *suite) for suite in SUITES),
        *(backlog(tools, workers, fold) for fold in (True, False) for workers in (1, 2, 3)),
        half_load(tools),
        shapes(tools),
        shape(tools, "tree_lstm", ("cellular:512", "cellular:1024")),
        shape(tools, "seq2seq", ("cellular:512", "cellular:1024")),
        sanitizer(tools, "memcheck", FEW, 60),
        *[races(tools)] * HOPPER,
        profiler(tools),
    ]


CALLS = {"A": (call_a, 480), "B": (call_b, 420)}
