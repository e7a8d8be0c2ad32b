"""What the measurements of a cluster say, against what is asked for."""

import bisect
import math

WINDOW_US, STEP_US, P90_MS = 500_000, 100_000, 100.0
LATE_MS, OTHERS_SHARE = 5.0, 0.2


def percentile(values, fraction):
    ordered = sorted(values)
    return ordered[max(0, math.ceil(fraction * len(ordered)) - 1)] if ordered else math.nan


def merge(reports):
    """One report of the loads that ran side by side."""
    merged = {key: sum(report[key] for report in reports) for key in ("offered", "completed", "wrong", "duplicates", "verified")}
    merged["late_ms"] = max(report["late_ms"]["p99"] for report in reports)
    merged["longest_ms"] = max(report["latency_ms"]["max"] for report in reports)
    merged["resent"] = sum(report.get("resent", 0) for report in reports)
    merged["errors"] = {}
    for report in reports:
        for code, count in report["errors"].items():
            merged["errors"][code] = merged["errors"].get(code, 0) + count
    merged["timeline"] = sorted((row for report in reports for row in report["timeline"]), key=lambda row: row[1])
    merged["p90_ms"] = percentile([(end - due) / 1e3 for due, end, _ in merged["timeline"]], 0.9)
    return merged


def recovery_s(timeline, event_us, until_us):
    """How long after the event the last window of 500 ms ended, by the time of the answers, whose p90 exceeded 100 ms, or in which
    nothing was answered. `timeline` is in the order of the answers."""
    ends = [end for _, end, _ in timeline]
    last_bad = event_us
    for begin in range(event_us, until_us - WINDOW_US + 1, STEP_US):
        rows = timeline[bisect.bisect_left(ends, begin) : bisect.bisect_left(ends, begin + WINDOW_US)]
        if not rows or percentile([(end - due) / 1e3 for due, end, _ in rows], 0.9) > P90_MS:
            last_bad = begin + WINDOW_US
    return (last_bad - event_us) / 1e6


def held(figure):
    value = figure["is"]
    return value <= figure.get("at_most", value) and value >= figure.get("at_least", value)


def why_void(report):
    """Why a run says nothing; empty when it does."""
    if report["late_ms"] > LATE_MS:
        return f"the load was late by {report['late_ms']:.1f} ms at p99"
    if report.get("others_share", 0) > OTHERS_SHARE:
        return f"others used {report['others_share']:.0%} of the machine"
    return ""


def judge(report):
    if why_void(report):
        return "void"
    return "holds" if all(held(figure) for figure in report["figures"].values()) else "DOES NOT HOLD"


def show(name, report):
    print(f"{name}: {report['what']}")
    for figure_name, figure in report["figures"].items():
        bound = "at most" if "at_most" in figure else "at least"
        limit = figure.get("at_most", figure.get("at_least"))
        print(f"  {figure_name:58} {figure['is']:10.2f}   {bound} {limit:g}{'' if held(figure) else '   <<<'}")
    for key, value in report["seen"].items():
        print(f"  {key}: {value}")
    print(f"  generator late, p99: {report['late_ms']:.2f} ms")
    why = why_void(report)
    print(f"{name}: {report['verdict']}{why and ': ' + why}", flush=True)
