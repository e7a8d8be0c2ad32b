"""A cluster under a steady load, to which something is done every five seconds."""

import signal
import time

import cluster_figures as figures
from cluster_processes import Cluster, Load

RATE, LENGTH, EVERY_S, HELD_S, LEAST_IN_FLIGHT = 800, 24, 5.0, 2.0, 8
LONGEST_MS, RECOVERED_S, SHARE_RECOVERED = 2500.0, 2.0, 11 / 12
RESENT, RESENT_BY_ROUTER = 0.01, 0.05  # share of the requests that clients may send again: when nodes fail, when routers do
CONFIG = """
[admin]
socket = ""
[device]
kind = "timed"
timed_task_us = 2000.0
timed_row_us = 0.0
[batching]
max_tasks_to_submit = 2
"""


def make_cluster(volvox, folder, network, **more):
    cluster = Cluster(volvox, folder, network, CONFIG, **more)
    cluster.new_model("check", "check", "--max-batch", 32)
    return cluster


def now_us():
    return time.monotonic_ns() // 1000


def wait_until(moment):
    time.sleep(max(0.0, moment - time.monotonic()))


def busy(victims):
    """Waits until each has enough in flight; the least and how much it was, after a second in any case."""
    until = time.monotonic() + 1
    while True:
        least = min(victim.in_flight() for victim in victims)
        if least >= LEAST_IN_FLIGHT or time.monotonic() > until:
            return least
        time.sleep(0.01)


class Harm:
    """What is done to `victims(k)`, the k-th time, and undone `held_s` later."""

    def __init__(self, what, victims, do, undo, held_s=HELD_S, resent=RESENT):
        self.what, self.victims, self.do, self.undo, self.held_s, self.resent = what, victims, do, undo, held_s, resent


def offer(cluster, seconds, endpoints):
    options = ["--model", "check", "--models", cluster.models, "--length", LENGTH, "--rate", RATE / len(endpoints)]
    options += ["--seconds", seconds, "--warmup", 1, "--timeout", 10]
    return [Load(cluster, f"load{i}", at, *options, "--seed", i + 1) for i, at in enumerate(endpoints)]


def disturb(cluster, seconds, harm, endpoints=None):
    """The report of one scenario."""
    loads = []
    try:
        cluster.start()
        loads = offer(cluster, seconds, endpoints or [router.endpoint for router in cluster.routers])
        events = do_harm(seconds, harm)
        results = [load.result() for load in loads]
        cluster.wait_for_members()
        counts = {name: cluster.sum(f"volvox_cluster_{name}_total") for name in ("deaths", "retries", "late_answers")}
    except (RuntimeError, KeyError):
        print(cluster.last_words())
        raise
    finally:
        for load in loads:
            load.end()
        cluster.end()
    return report_of(harm, figures.merge(results), events, counts)


def do_harm(seconds, harm):
    begin, events = time.monotonic() + 1, []  # after the warm-up
    for k in range(max(1, int(seconds / EVERY_S))):
        wait_until(begin + 1.5 + EVERY_S * k)
        victims = harm.victims(k)
        in_flight = busy(victims)
        events.append({"at_us": now_us(), "victims": [victim.name for victim in victims], "in_flight": in_flight})
        for victim in victims:
            harm.do(victim)
        wait_until(events[-1]["at_us"] / 1e6 + harm.held_s)
        for victim in victims:
            harm.undo(victim)
    return events


def report_of(harm, load, events, counts):
    timeline = load.pop("timeline")
    last = timeline[-1][1]
    for event, following in zip(events, [*events[1:], {"at_us": last}]):
        event["recovered_s"] = figures.recovery_s(timeline, event["at_us"], min(following["at_us"], last))
    recovered = sum(event["recovered_s"] <= RECOVERED_S for event in events)
    checks = {
        "offered and not completed": {"is": load["offered"] - load["completed"], "at_most": 0},
        "not checked": {"is": load["completed"] - load["verified"], "at_most": 0},
        "wrong": {"is": load["wrong"], "at_most": 0},
        "duplicates": {"is": load["duplicates"], "at_most": 0},
        "sent again by clients": {"is": load["resent"], "at_most": int(harm.resent * load["offered"])},
        "least in flight on a victim": {"is": min(event["in_flight"] for event in events), "at_least": LEAST_IN_FLIGHT},
        "longest answer, ms": {"is": load["longest_ms"], "at_most": LONGEST_MS},
        f"of {len(events)}: p90 below 100 ms again within 2 s": {"is": recovered, "at_least": int(SHARE_RECOVERED * len(events))},
    }  # fmt: skip
    seen = {key: load[key] for key in ("offered", "completed", "errors", "resent", "p90_ms")} | counts
    seen["recovered after, s"] = [round(event["recovered_s"], 2) for event in events]
    return {"what": harm.what, "figures": checks, "seen": seen, "events": events, "late_ms": load["late_ms"]}


def in_turn(members):
    return lambda k: [members[k % len(members)]]


def kill(volvox, folder, network, seconds):
    cluster = make_cluster(volvox, folder, network)
    kill_one = lambda node: node.send(signal.SIGKILL)  # noqa: E731
    return disturb(cluster, seconds, Harm("a node is killed", in_turn(cluster.nodes), kill_one, lambda node: node.start()))


def stop(volvox, folder, network, seconds):
    cluster = make_cluster(volvox, folder, network)
    harm = Harm("a node stands still", in_turn(cluster.nodes),
                lambda node: node.send(signal.SIGSTOP), lambda node: node.send(signal.SIGCONT))  # fmt: skip
    return disturb(cluster, seconds, harm)


def router(volvox, folder, network, seconds):
    cluster = make_cluster(volvox, folder, network)
    endpoints = [one.endpoint for one in cluster.routers]
    harm = Harm("a router is killed", in_turn(cluster.routers),
                lambda one: one.send(signal.SIGKILL), lambda one: one.start(), resent=RESENT_BY_ROUTER)  # fmt: skip
    return disturb(cluster, seconds, harm, [",".join(endpoints), ",".join(reversed(endpoints))])


def restart(volvox, folder, network, seconds):
    hole = "10.77.1.1"
    cluster = make_cluster(volvox, folder, network, more_routers=[f"{hole}:7110"])
    for node in cluster.nodes:
        network.cut(node.host, hole)

    def victims(k):
        return [cluster.nodes[k % 3], cluster.nodes[(k + 1) % 3]]

    harm = Harm("two nodes are killed and start again", victims,
                lambda node: node.send(signal.SIGKILL), lambda node: node.start(), 0)  # fmt: skip
    return disturb(cluster, seconds, harm)


def cut_link(network, what, cluster, seconds, routers, inwards=True, outwards=True):
    """Cuts a node, by turns, from these routers."""

    def change(node, one_way):
        for one in routers:
            if outwards:
                one_way(node.host, one.host.address)
            if inwards:
                one_way(one.host, node.host.address)

    harm = Harm(what, in_turn(cluster.nodes),
                lambda node: change(node, network.cut), lambda node: change(node, network.mend))  # fmt: skip
    return disturb(cluster, seconds, harm)


def cut(volvox, folder, network, seconds):
    cluster = make_cluster(volvox, folder, network)
    return cut_link(network, "a node is cut from all routers", cluster, seconds, cluster.routers)


def cut_one(volvox, folder, network, seconds):
    cluster = make_cluster(volvox, folder, network)
    return cut_link(network, "a node is cut from one router", cluster, seconds, cluster.routers[:1])


def cut_in(volvox, folder, network, seconds):
    cluster = make_cluster(volvox, folder, network)
    return cut_link(network, "a node does not hear the routers", cluster, seconds, cluster.routers, outwards=False)


def cut_out(volvox, folder, network, seconds):
    cluster = make_cluster(volvox, folder, network)
    return cut_link(network, "the routers do not hear a node", cluster, seconds, cluster.routers, inwards=False)
