#!/usr/bin/env python3
"""Puts what gpu/check.sh measured into one JSON file and a table for docs/gpu.md.

Usage: summarise.py FOLDER RESULT.json. FOLDER holds what ran: tests.xml, steps.json, backlog.json, half.json,
torch.json, and `failures`, one failed part a line. Whatever is missing is null in the result.
"""

import json
import pathlib
import sys
import xml.etree.ElementTree


def read_json(path):
    """The file's content; None where there is no such file or it is no JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def failed_tests(path):
    """Tests that failed or were skipped on a machine that has a GPU, by name."""
    try:
        root = xml.etree.ElementTree.parse(path).getroot()
    except (OSError, xml.etree.ElementTree.ParseError):
        return ["tests did not end"]
    bad = []
    for case in root.iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        skipped = case.find("skipped") is not None or case.get("result") == "skipped"
        if case.find("failure") is not None or (skipped and "Gpu" in name):
            bad.append(name)
    return bad


def median(value):
    """A measurement of volvox-bench: a number, or the median of repetitions."""
    return value.get("median") if isinstance(value, dict) else value


def interpolated(points, at):
    """The value at `at` of (x, y) points, linear in between and flat outside."""
    points = sorted(points)
    if not points:
        return None
    if at <= points[0][0]:
        return points[0][1]
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        if at <= x1:
            return y0 + (y1 - y0) * (at - x0) / (x1 - x0)
    return points[-1][1]


def busy(run, steps, precision):
    """Product-alone time of the executed tasks over the wall, by the mean batch."""
    points = {(row["batch"], row["gemm_us"]) for row in steps if row["precision"] == precision}
    batch, rate = median(run["mean_batch"]), median(run["throughput_rps"])
    gemm = interpolated(points, batch)
    return rate * run["mean_length"] / batch * gemm * 1e-6 if gemm and batch else None


def served(folder, name):
    """The one run of an engine report, with the mean length beside it."""
    report = read_json(folder / name)
    return None if not report else {**report["runs"][0], "mean_length": report["mean_length"]}


def summarise(folder):
    failures = (folder / "failures").read_text(encoding="utf-8").split("\n") if (folder / "failures").exists() else []
    measured = read_json(folder / "steps.json") or {}
    steps = measured.get("lstm", [])
    backlog, half, torch = served(folder, "backlog.json"), served(folder, "half.json"), read_json(folder / "torch.json")
    result = {"failed": failed_tests(folder / "tests.xml") + [line for line in failures if line], "lstm": steps,
              "completion": measured.get("completion", []),
              "torch": torch, "throughput_vs_torch": None, "p90_vs_torch": None, "busy": None,
              "requests_per_second": None, "cells_per_second": None, "host_ns_per_cell": None}
    if backlog:
        result["requests_per_second"] = median(backlog["throughput_rps"])
        result["cells_per_second"] = result["requests_per_second"] * backlog["mean_length"]
        result["host_ns_per_cell"] = median(backlog["host_ns_per_cell"])
        result["busy"] = busy(backlog, steps, "bfloat16")
        if torch:
            result["throughput_vs_torch"] = result["requests_per_second"] / torch["saturated_rps"]
    if half and torch:
        result["p90_vs_torch"] = median(half["latency_ms"]["p90"]) / torch["half_load"]["p90_ms"]
    return result


def table(result):
    lines = ["| hidden | batch | precision | path | step µs | product µs | step / product |", "|---|---|---|---|---|---|---|"]
    for row in result["lstm"]:
        lines.append(f"| {row['hidden']} | {row['batch']} | {row['precision']} | {row['path']} | {row['step_us']:.1f} "
                     f"| {row['gemm_us']:.1f} | {row['step_us'] / row['gemm_us']:.2f} |")
    lines += ["", "| cuDNN, whole sequences: batch | step µs |", "|---|---|"]
    for row in (result["torch"] or {}).get("cudnn_steps", []):
        lines.append(f"| {row['batch']} | {row['step_us']:.1f} |")
    lines += ["", "| told by | round trip µs | µs a task in line |", "|---|---|---|"]
    for way in result["completion"]:
        lines.append(f"| {way['way']} | {way['round_trip_us']:.1f} | {way['per_task_us']:.1f} |")
    lines.append("")
    for key in ("throughput_vs_torch", "p90_vs_torch", "busy", "requests_per_second", "cells_per_second",
                "host_ns_per_cell"):
        value = result[key]
        lines.append(f"{key}: {'not measured' if value is None else f'{value:.4g}'}")
    return "\n".join(lines + [f"failed: {', '.join(result['failed']) or 'nothing'}"])


def main(arguments):
    folder, path = pathlib.Path(arguments[0]), pathlib.Path(arguments[1])
    result = summarise(folder)
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(table(result))
    return 1 if result["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
