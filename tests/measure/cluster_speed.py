"""How a cluster scales, what the way through it costs, and what a slow link does."""

import json
import pathlib
import subprocess
import sys
import threading
import time

from cluster_harm import make_cluster
from cluster_processes import Cluster, Load, Others, Unfit

ROOT = pathlib.Path(__file__).resolve().parents[2]
NODES, RATIO, BALANCE, P90_RATIO, LEAST_REQUESTS = 4, 3.8, 0.05, 1.15, 20_000
RATE_A_NODE, IN_FLIGHT_A_NODE = 400, 64
LEAST_RPS, IN_FLIGHT, LIGHT_RATE, LIGHT_P50_MS, LIGHT_TO_BARE = 15_000, 64, 200, 0.4, 2.0
LINK_MBIT, LARGE_MIB, LARGE_REQUESTS, SMALL_RATE, SMALL_P90_MS = 100, 15.75, 8, 50, 50.0
LARGE_ROWS = int(LARGE_MIB * (1 << 20)) // (65536 * 4 + 4)
NOOP = '[admin]\nsocket = ""\n[device]\nkind = "cpu"\ncompute_threads = 1\n'
# As `models new check` makes it, with an input beside it that only has weight.
HEAVY = """
name = "heavy"
unfolding = "chain"
[[cell]]
name = "check"
kind = "check"
[[input]]
name = "tokens"
dtype = "i32"
[[input]]
name = "ballast"
dtype = "f32"
shape = [65536]
[[output]]
name = "state"
"""


def run_load(cluster, name, *options):
    load = Load(cluster, name, cluster.routers[0].endpoint, *options)
    try:
        return load.result(600)
    finally:
        load.end()


def cells(cluster):
    pages = (node.page() for node in cluster.nodes)
    return [sum(value for name, value in page.items() if name.startswith("volvox_cells_total")) for page in pages]


def load_nodes(volvox, folder, network, nodes, seconds):
    """Requests of mixed lengths: a closed loop that fills all batches, then an open one."""
    cluster = make_cluster(volvox, folder, network, routers=1, nodes=nodes)
    common = ["--model", "check", "--models", cluster.models, "--warmup", 2]
    try:
        cluster.start()
        closed = run_load(cluster, "closed", *common, "--concurrency", IN_FLIGHT_A_NODE * nodes, "--seconds", seconds / 4)
        before = cells(cluster)
        rate = RATE_A_NODE * nodes
        opened = run_load(cluster, "open", *common, "--rate", rate, "--seconds", max(LEAST_REQUESTS / rate * 1.05, seconds / 4))
        executed = [after - earlier for after, earlier in zip(cells(cluster), before)]
    finally:
        cluster.end()
    return closed, opened, executed


def scale(volvox, folder, network, seconds):
    one = load_nodes(volvox, folder / "one", network, 1, seconds)
    four = load_nodes(volvox, folder / "four", network, NODES, seconds)
    mean = sum(four[2]) / NODES
    checks = {
        "throughput of 4 nodes / of one": {"is": four[0]["throughput_rps"] / one[0]["throughput_rps"], "at_least": RATIO},
        "cells of a node off the mean, most": {"is": max(abs(n - mean) / mean for n in four[2]), "at_most": BALANCE},
        "p90 of 4 nodes / of one": {"is": four[1]["latency_ms"]["p90"] / one[1]["latency_ms"]["p90"], "at_most": P90_RATIO},
        "requests behind each p90": {"is": min(one[1]["completed"], four[1]["completed"]), "at_least": LEAST_REQUESTS},
        "not completed, wrong or twice": {"is": sum(bad(report) for run in (one, four) for report in run[:2]), "at_most": 0},
    }  # fmt: skip
    seen = {
        "requests a second, closed loop": [round(run[0]["throughput_rps"]) for run in (one, four)],
        "p90 at 400 requests a second a node, ms": [round(run[1]["latency_ms"]["p90"], 1) for run in (one, four)],
        "cells of each node": four[2],
    }  # fmt: skip
    late = max(run[1]["late_ms"]["p99"] for run in (one, four))
    return {"what": f"{NODES} nodes against one", "figures": checks, "seen": seen, "late_ms": late}


def bad(report):
    return report["offered"] - report["completed"] + report["wrong"] + report["duplicates"]


def bare_ways(volvox, seconds):
    """p50 of a message there and back, ms: between client and router, and between router and node, with nothing behind them."""
    echo = pathlib.Path(volvox).parent / "tests/measure/volvox_echo"
    if not echo.exists():
        raise Unfit(f"{echo} is missing: build the tests, too")
    command = [str(echo), "--rate", str(LIGHT_RATE), "--seconds", str(seconds)]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return report["zeromq_ms"]["p50"], report["caf_ms"]["p50"]


def speed(volvox, folder, network, seconds):
    cluster = Cluster(volvox, folder, network, NOOP, routers=1, nodes=1)
    cluster.new_model("noop", "noop")
    common = ["--model", "noop", "--length", 1]
    try:
        cluster.start()
        others = Others(cluster)
        closed = run_load(cluster, "closed", *common, "--concurrency", IN_FLIGHT, "--seconds", seconds / 4)
        light = run_load(cluster, "light", *common, "--rate", LIGHT_RATE, "--seconds", seconds / 4)
        lone = run_load(cluster, "lone", *common, "--concurrency", 1, "--seconds", seconds / 8)
        share = others.share()
    finally:
        cluster.end()
    bare = bare_ways(volvox, seconds / 8)
    checks = {
        "requests a second, 64 in flight": {"is": closed["throughput_rps"], "at_least": LEAST_RPS},
        "p50 at 200 requests a second, ms": {"is": light["latency_ms"]["p50"], "at_most": LIGHT_P50_MS},
        "the same / bare ZeroMQ and CAF": {"is": light["latency_ms"]["p50"] / sum(bare), "at_most": LIGHT_TO_BARE},
        "not completed or twice": {"is": sum(bad(report) for report in (closed, light, lone)), "at_most": 0},
    }  # fmt: skip
    seen = {
        "64 in flight, ms": closed["latency_ms"],
        "200 a second, ms": light["latency_ms"],
        "one after the other, ms": lone["latency_ms"],
        "bare p50, ms": bare,
    }
    what = "a router and a node, an empty cell"
    return {"what": what, "figures": checks, "seen": seen, "late_ms": light["late_ms"]["p99"], "others_share": share}


def heavy_client():
    sys.path.insert(0, str(ROOT / "protocol" / "python"))
    try:
        import volvox_client  # pylint: disable=import-outside-toplevel
    except ImportError as why:
        raise Unfit(f"the Python client does not run here ({why}); Debian has python3-zmq") from why
    return volvox_client


def add_heavy(cluster):
    """The model that send_heavy() asks for."""
    (cluster.models / "heavy" / "1").mkdir(parents=True)
    (cluster.models / "heavy" / "model.toml").write_text(HEAVY, encoding="utf-8")
    (cluster.models / "heavy" / "1" / "weights.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")


def send_heavy(cluster, client_module, requests, took_s, rows=LARGE_ROWS):
    """One after the other, while there is time. A row weighs 256 KiB."""
    ballast = memoryview(bytes(rows * 65536 * 4)).cast("f", [rows, 65536])
    with client_module.Client(cluster.routers[0].endpoint, timeout=60) as client:
        for _ in range(requests):
            begin = time.monotonic()
            client.infer("heavy", {"tokens": list(range(rows)), "ballast": ballast})
            took_s.append(time.monotonic() - begin)


def slow_link(volvox, folder, network, seconds):
    client_module = heavy_client()
    cluster = make_cluster(volvox, folder, network, routers=1, nodes=1)
    add_heavy(cluster)
    network.slow(cluster.nodes[0].host, LINK_MBIT)
    requests = max(2, int(seconds / 60 * LARGE_REQUESTS))
    took_s = []
    try:
        cluster.start()
        sender = threading.Thread(target=send_heavy, args=(cluster, client_module, requests, took_s))
        sender.start()
        options = ["--model", "check", "--models", cluster.models, "--length", 4, "--rate", SMALL_RATE, "--warmup", 1]
        small = run_load(cluster, "small", *options, "--seconds", requests * 1.4)
        sender.join(120)
        suspicions = cluster.sum("volvox_cluster_suspicions_total")
    finally:
        cluster.end()
    checks = {
        f"of {requests} requests of {LARGE_MIB} MiB, answered": {"is": len(took_s), "at_least": requests},
        "members suspected": {"is": suspicions, "at_most": 0},
        "small requests' p90, ms": {"is": small["latency_ms"]["p90"], "at_most": SMALL_P90_MS},
        "small requests not completed, wrong or twice": {"is": bad(small), "at_most": 0},
    }  # fmt: skip
    seen = {"large ones took, s": [round(one, 2) for one in took_s], "small ones, ms": small["latency_ms"]}
    return {"what": f"a link of {LINK_MBIT} Mbit/s", "figures": checks, "seen": seen, "late_ms": small["late_ms"]["p99"]}
