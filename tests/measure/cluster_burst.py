"""Many large answers at once through a router and a node, with small ones beside them."""

import subprocess
import time

import cluster_figures as figures
from cluster_processes import Cluster, Load
from cluster_speed import bad, run_load

# 25,000 steps: 100 kB there, 200 kB back.
AT_ONCE, STEPS, EVERY_S, SMALL_RATE, SMALL_LENGTH, P90_RATIO, P90_MORE_MS = 192, 25_000, 1.0, 100, 4, 2.0, 5.0
CONFIG = '[admin]\nsocket = ""\n[device]\nkind = "cpu"\ncompute_threads = 1\n'


def make_cluster(volvox, folder, network):
    cluster = Cluster(volvox, folder, network, CONFIG, routers=1, nodes=1)
    cluster.new_model("check", "small")
    cluster.new_model("check", "big", "--every-step")
    definition = cluster.models / "big" / "model.toml"
    definition.write_text(definition.read_text().replace("max_length = 4096", "max_length = 32768"), encoding="utf-8")
    return cluster


def small(cluster, name, seconds):
    options = ["--model", "small", "--models", cluster.models, "--length", SMALL_LENGTH, "--rate", SMALL_RATE]
    return Load(cluster, name, cluster.routers[0].endpoint, *options, "--warmup", 1, "--seconds", seconds)


def burst(volvox, folder, network, seconds):
    """A burst each second for half of the time; before it the small ones are alone."""
    cluster, bursts = make_cluster(volvox, folder, network), []
    try:
        cluster.start()
        alone = small(cluster, "alone", max(5, seconds / 4)).result()
        beside = small(cluster, "beside", max(3, seconds / 2))
        begin = time.monotonic() + 1
        for k in range(max(3, int(seconds / 2 / EVERY_S))):
            time.sleep(max(0.0, begin + k * EVERY_S - time.monotonic()))
            options = ["--model", "big", "--models", cluster.models, "--length", STEPS, "--warmup", 0]
            options += ["--concurrency", AT_ONCE, "--requests", AT_ONCE, "--verify-count", AT_ONCE]
            bursts.append(run_load(cluster, f"burst{k}", *options))
        with_bursts = beside.result()
        joins = cluster.sum("volvox_cluster_joins_total")
    except (RuntimeError, KeyError, subprocess.SubprocessError):
        print(cluster.last_words())
        raise
    finally:
        cluster.end()
    bound = P90_RATIO * alone["latency_ms"]["p90"] + P90_MORE_MS
    checks = {
        f"of {len(bursts)} times {AT_ONCE} large ones, not completed, wrong or twice": {"is": sum(map(bad, bursts)), "at_most": 0},
        "of them not checked": {"is": sum(one["completed"] - one["verified"] for one in bursts), "at_most": 0},
        "joins": {"is": joins, "at_most": 1},
        "small ones' p90 beside them, ms": {"is": with_bursts["latency_ms"]["p90"], "at_most": bound},
        "small ones not completed, wrong or twice": {"is": bad(alone) + bad(with_bursts), "at_most": 0},
    }  # fmt: skip
    took = [one["latency_ms"]["max"] for one in bursts]
    errors = {}
    for one in bursts:
        for code, count in one["errors"].items():
            errors[code] = errors.get(code, 0) + count
    seen = {
        "small ones alone, ms": alone["latency_ms"],
        "beside bursts, ms": with_bursts["latency_ms"],
        "a burst took, ms, median and most": (round(figures.percentile(took, 0.5)), round(max(took))),
        "errors": errors,
    }
    late = max(alone["late_ms"]["p99"], with_bursts["late_ms"]["p99"])
    return {"what": f"{AT_ONCE} answers of 200 kB at once, again and again", "figures": checks, "seen": seen, "late_ms": late}
