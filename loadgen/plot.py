#!/usr/bin/env python3
"""Draws latency against throughput, as a PNG, of what was measured.

Usage: plot.py REPORT.json [--out FILE.png]

REPORT: what `volvox load --sweep --json` or `loadgen/scenarios/run.py` has written. Of a scenario each server has a line, through
the medians of its rounds; bars reach from the median latency (p50) to p99, as BatchMaker's figures have it.
"""

import argparse
import json
import pathlib
import sys


def of_sweep(report):
    """[(label, [(throughput, p50, p90, p99)])]"""
    points = [(p["throughput_rps"], p["latency_ms"]["p50"], p["latency_ms"]["p90"], p["latency_ms"]["p99"]) for p in report["points"]]
    return [("", points)]


def of_scenario(report):
    lines = []
    for name, server in report["summary"].items():
        points = [tuple(load[key]["median"] for key in ("throughput_rps", "latency_p50", "latency_p90", "latency_p99"))
                  for load in server["loads"].values()]
        lines.append((name, sorted(points)))
    return lines


def read(path):
    report = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    if "points" in report:
        return "", of_sweep(report)
    if "summary" in report:
        return report["title"], of_scenario(report)
    raise ValueError(f"{path} is the report neither of a sweep nor of a scenario")


def draw(title, lines, out):
    import matplotlib  # pylint: disable=import-outside-toplevel

    matplotlib.use("Agg")
    from matplotlib import pyplot  # pylint: disable=import-outside-toplevel

    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    for label, points in lines:
        x, p50, p90, p99 = zip(*points)
        below = [b - a for a, b in zip(p50, p90)]
        above = [b - a for a, b in zip(p90, p99)]
        axes.errorbar(x, p90, yerr=[below, above], marker="o", capsize=3, label=label or None)
    axes.set_xlabel("requests/s answered")
    axes.set_ylabel("latency, p90 (bars: p50 to p99), ms")
    axes.set_yscale("log")
    axes.set_title(title)
    axes.grid(True, which="both", alpha=0.3)
    if any(label for label, _ in lines):
        axes.legend()
    figure.tight_layout()
    figure.savefig(out, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, help="default: beside the report")
    options = parser.parse_args()
    try:
        title, lines = read(options.report)
        lines = [(label, points) for label, points in lines if points]
        if not lines:
            raise ValueError(f"{options.report} has no loads to draw")
        draw(title, lines, options.out or options.report.with_suffix(".png"))
    except ImportError:
        print("plot.py: error: it needs Debian's python3-matplotlib", file=sys.stderr)
        return 1
    except (OSError, ValueError, KeyError) as error:
        print(f"plot.py: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
