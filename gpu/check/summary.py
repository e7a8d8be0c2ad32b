"""What the stages of gpu/check.sh measured, as figures with what was predicted beside them, and as a table for docs/gpu.md.

Whatever is missing, or is not what it should be, is left out; nothing that one stage wrote can spoil the figures of another.
"""

import json
import pathlib
import xml.etree.ElementTree

PREDICTIONS = pathlib.Path(__file__).with_name("predictions.json")


def number(value):
    """A measurement of volvox-bench: a number, or the median of repetitions. None if it is neither."""
    value = value.get("median") if isinstance(value, dict) else value
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def result_of(stages, name):
    found = stages.get(name, {}).get("result")
    return found if isinstance(found, dict) else {}


def rows_of(found, key):
    """The list of objects below a key."""
    rows = found.get(key)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def failed_tests(work):
    """Tests that failed, or were skipped on a machine that has a GPU, by name."""
    bad = []
    for path in sorted(pathlib.Path(work).glob("*.xml")):
        try:
            cases = list(xml.etree.ElementTree.parse(path).getroot().iter("testcase"))
        except (OSError, xml.etree.ElementTree.ParseError):
            bad.append(f"{path.name}: no report")
            continue
        if not cases:
            bad.append(f"{path.name}: no test ran")  # GoogleTest takes a filter that nothing matches for a success
        for case in cases:
            skipped = case.find("skipped") is not None or case.get("result") == "skipped"
            if case.find("failure") is not None or skipped:
                bad.append(f"{case.get('classname')}.{case.get('name')}")
    return bad


def step_rows(stages):
    rows = [row for name in stages if name.startswith("step-") for row in rows_of(result_of(stages, name), "lstm")]
    return [row for row in rows if all(number(row.get(key)) for key in ("hidden", "batch", "step_us", "gemm_us"))]


def interpolated(points, at):
    """The value at `at` of (x, y) points, linear in between and flat outside; None without points."""
    points = sorted(points)
    if not points:
        return None
    if at <= points[0][0]:
        return points[0][1]
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        if at <= x1:
            return y0 + (y1 - y0) * (at - x0) / (x1 - x0)
    return points[-1][1]


def engine_run(stages, name):
    """The last run of an engine report, with the mean length beside it."""
    found = result_of(stages, name)
    runs = rows_of(found, "runs")
    return {**runs[-1], "mean_length": found.get("mean_length")} if runs else {}


def busy(run, steps):
    """Product-alone time of the executed tasks over the wall, by the mean batch."""
    points = {(row["batch"], row["gemm_us"]) for row in steps if row.get("precision") == "bfloat16"}
    batch, rate, length = number(run.get("mean_batch")), number(run.get("throughput_rps")), number(run.get("mean_length"))
    product = interpolated(points, batch) if batch else None
    return rate * length / batch * product * 1e-6 if product and rate and length else None


def figures_of(stages):
    """Name → value of everything that can be told."""
    found, steps = {}, step_rows(stages)
    for row in steps:
        what = f"{row.get('path')} b{row['batch']}" + ("" if row.get("precision") == "bfloat16" else f" {row.get('precision')}")
        found[f"step_us {what}"] = number(row["step_us"])
        found[f"task_us {what}"] = number(row.get("task_us"))
        found[f"step / product {what}"] = number(row["step_us"]) / number(row["gemm_us"])
    for row in rows_of(result_of(stages, "products"), "products"):
        suffix = "" if row.get("precision") == "bfloat16" else f" {row.get('precision')}"
        found[f"product_us b{row.get('batch')} k{row.get('width')}{suffix}"] = number(row.get("us"))
    for row in rows_of(result_of(stages, "probes"), "probes"):
        found[f"probe {row.get('name')}"] = number(row.get("value"))
    torch = result_of(stages, "torch")
    for row in rows_of(torch, "products"):
        found[f"torch product_us b{row.get('batch')} k{row.get('width')}"] = number(row.get("us"))
    for row in rows_of(torch, "cudnn_steps"):
        found[f"torch step_us b{row.get('batch')}"] = number(row.get("step_us"))
    found["torch requests_per_second"] = number(torch.get("saturated_rps"))
    for load, workers in ((load, workers) for load in ("backlog", "folded") for workers in (1, 2, 3)):
        run = engine_run(stages, f"{load}-{workers}")
        suffix = load if workers == 1 else f"{load}, {workers} workers"
        found[f"requests_per_second {suffix}"] = number(run.get("throughput_rps"))
        found[f"host_ns_per_cell {suffix}"] = number(run.get("host_ns_per_cell"))
        found[f"busy {suffix}"] = busy(run, steps) if run else None
    for row in rows_of(result_of(stages, "steps"), "steps"):
        what = f"b{row.get('rows')} k{row.get('width')} {row.get('tile')}x{row.get('split')}"
        what += f" mates {row['mates']}" if row.get("mates", 1) > 1 else ""
        found[f"kernel_us {what}"] = number(row.get("early_us"))
        found[f"task_us chain {what}"] = number(row.get("task_us"))
    found |= beside_torch(stages, torch)
    found |= shapes_beside_torch(stages)
    return {name: value for name, value in found.items() if value is not None}


def beside_torch(stages, torch):
    peer, half = number(torch.get("saturated_rps")), torch.get("half_load")
    half = half if isinstance(half, dict) else {}
    best = max(number(engine_run(stages, f"{load}-{workers}").get("throughput_rps")) or 0
               for load in ("backlog", "folded") for workers in (1, 2, 3))  # fmt: skip
    run = engine_run(stages, "half-load")
    latency = run.get("latency_ms")
    p90, peers = number(latency.get("p90")) if isinstance(latency, dict) else None, number(half.get("p90_ms"))
    same_rate = number(run.get("offered_rps")) and abs(number(run["offered_rps"]) / (number(half.get("rate_rps")) or 1) - 1) < 0.05
    return {"requests_per_second / PyTorch's": best / peer if best and peer else None, "half load p90 ms": p90,
            "half load p90 / PyTorch's": p90 / peers if p90 and peers and same_rate else None}  # fmt: skip


def shapes_beside_torch(stages):
    """Trees and translations a second, and by PyTorch."""
    torch, found = result_of(stages, "torch-shapes"), {}
    for kind, key in (("tree_lstm", "trees"), ("seq2seq", "translations")):
        peer = max((number(row.get("rps")) or 0 for row in rows_of(torch, key)), default=0)
        runs = rows_of(result_of(stages, f"shape-{kind}"), "runs")
        own = max((number(row.get("throughput_rps")) or 0 for row in runs), default=0) or None
        found[f"torch {key}_per_second"] = peer or None
        found[f"{key}_per_second"] = own
        found[f"{key}_per_second / PyTorch's"] = own / peer if own and peer else None
    return found


def predictions():
    return json.loads(PREDICTIONS.read_text(encoding="utf-8"))["figures"]


def account(stages, work):
    """What summary.json holds besides the stages."""
    expected = predictions()
    figures = {name: {"is": value, **({"predicted": expected[name]} if name in expected else {})}
               for name, value in figures_of(stages).items()}  # fmt: skip
    bad = [name for name, row in stages.items() if row.get("status") not in ("ok", "skipped", "carried")]
    return {"failed": bad + failed_tests(work), "figures": figures,
            "not_measured": sorted(set(expected) - set(figures))}  # fmt: skip


def table(found):
    lines = ["| figure | is | predicted |", "|---|---|---|"]
    for name, row in found.get("figures", {}).items():
        least, most = row.get("predicted", ("", ""))
        lines.append(f"| {name} | {row['is']:.4g} | {f'{least:g} to {most:g}' if least != '' else ''} |")
    lines += ["", "| stage | became of it |", "|---|---|"]
    for name, row in found.get("stages", {}).items():
        lines.append(f"| {name} | {row['status']}{', ' + str(row['why']) if row.get('why') else ''} |")
    return "\n".join(lines + ["", f"failed: {', '.join(found.get('failed', [])) or 'nothing'}"]) + "\n"
