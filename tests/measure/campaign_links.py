"""Scenarios of the campaign in which processes stand still, die, or do not hear each other."""

import signal
import time

from campaign_clients import Alone, Streams, Twins
from campaign_world import CPU, ERRORS, LOSSES, TIMED
from cluster_figures import percentile
from cluster_processes import Namespaces

DEADLINES = (0.2, 1.0)
LARGE = {"model": "every", "lengths": (1, 25_000), "contents": 3, "window": 8, "patience": 120.0}  # 200 kB each
SMALL = {"model": "check", "lengths": (1, 8), "window": 1, "pause": 0.05}


def stand_still(world, member, seconds):
    member.send(signal.SIGSTOP)
    try:
        world.sleep(seconds)
    finally:
        member.send(signal.SIGCONT)


def no_harm(world):
    """J0: nothing is done to the cluster; clients send parts twice, cancel some, and have deadlines, as everywhere."""
    cluster = world.make_cluster(2, 2)
    cluster.start()
    world.add(Streams, 6, patience=10.0)
    world.add(Streams, 3, deadlines=DEADLINES, patience=10.0, name="hasty")
    world.add(Alone, 2, patience=10.0)
    world.begin()
    world.quiet()
    world.recover()
    world.finish(("OVERLOADED", "DEADLINE_EXCEEDED", "CANCELLED"), sessions=1000, replaced=20)


def routers_stand_still(world):
    """J1: a router stands still for 0.1 to 2 s, at random, again and again; parts have deadlines of 0.2 to 1 s."""
    cluster = world.make_cluster(2, 2)
    cluster.start()
    world.add(Streams, 10, deadlines=DEADLINES)
    world.add(Alone, 2, deadlines=DEADLINES)
    world.begin()
    while world.sleep(world.random.uniform(0.1, 1.0)):
        stand_still(world, world.random.choice(cluster.routers), world.random.uniform(0.1, 2.0))
    world.recover()
    world.quiet()
    world.finish((*ERRORS, *LOSSES), sessions=1000, replaced=20)


def homes_die_in_sends(world):
    """J2: the home of sessions ends itself in one of its next sends, between commit and answer as well."""
    cluster = world.make_cluster(2, 2)
    shims = {node: world.preload(node, "exit_in_send") for node in cluster.nodes}
    cluster.start()
    world.add(Streams, 10, parts=(3, 20))
    world.begin()
    deaths = 0
    while world.sleep(world.random.uniform(0.5, 2.0)):
        node = world.random.choice(cluster.nodes)
        shims[node].set(world.random.randint(1, 40))
        until = time.monotonic() + 5
        while node.process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        shims[node].set(0)
        if node.process.poll() is not None:
            deaths += node.process.returncode == 70
            node.start()
            cluster.wait_for_members()
    world.recover()
    world.quiet()
    world.expect_seen("deaths in a send", deaths, 20)
    world.finish((*ERRORS, *LOSSES), sessions=500)


def large_and_small(world, network, nodes):
    """A cluster on the CPU in namespaces, and the model for large results."""
    cluster = world.make_cluster(1, nodes, CPU, network, models=(("check",), ("every", "--every-step")))
    cluster.start()
    return cluster


def one_way_cuts(world):
    """J3: what a node sends to the router does not arrive for 0.2 to 5 s, while large results are under way."""
    network = Namespaces()
    cluster = large_and_small(world, network, 2)
    router = cluster.routers[0]
    world.add(Alone, 2, name="large", **LARGE)
    world.add(Alone, 2, name="small", **SMALL)
    world.add(Streams, 3)
    world.begin()
    cuts = 0
    while world.sleep(world.random.uniform(1.0, 4.0)):
        node = world.random.choice(cluster.nodes)
        network.cut(node.host, router.host.address)
        world.sleep(world.random.uniform(0.2, 5.0))
        network.mend(node.host, router.host.address)
        cuts += 1
    world.recover()
    late = world.add(Alone, 1, name="late", **(LARGE | {"window": 1}))[0]
    world.quiet()
    world.expect_seen("cuts", cuts, 15)
    world.finish((*ERRORS, *LOSSES))
    world.expect("large requests after the last cut", len(late.latencies), at_least=1)
    world.expect_prompt("the first of them took, s", late.latencies[0][0] if late.latencies else 99, 2.0)


def slow_link(world):
    """J4: one node's link carries 2 Mbit/s, and 256 large results go through the router at once."""
    network = Namespaces()
    cluster = large_and_small(world, network, 3)
    # The model of the small ones is on the others: an answer does not say which node ran it.
    unloaded = world.command("models", "unload", SMALL["model"], "--admin", cluster.nodes[0].admin)
    if unloaded.returncode != 0:
        raise RuntimeError(unloaded.stderr)
    small = world.add(Alone, 3, name="small", **SMALL)
    world.begin()
    world.sleep(min(20.0, world.seconds / 4))
    network.slow(cluster.nodes[0].host, 2)
    slow_from, joins = time.monotonic(), cluster.sum("volvox_cluster_joins_total")
    burst = 256 if world.seconds >= 120 else 16
    large = world.add(Alone, 1, name="large", **(LARGE | {"lengths": (1, 12_500), "window": burst, "patience": 240.0}))[0]
    world.sleep(world.seconds)
    seen = cluster.sum("volvox_cluster_joins_total") - joins
    world.quiet()
    world.stop_clients(300)
    taken = [entry for client in small for entry in client.latencies]
    before = percentile([took for took, at in taken if at < slow_from], 0.9)
    after = percentile([took for took, at in taken if at >= slow_from], 0.9)
    world.expect_seen("small requests", len(taken), 1000)
    world.expect("links that were made anew", seen, at_most=0)
    world.expect("p90 of small requests that other nodes ran, ms", 1000 * after, at_most=2000 * before + 20)
    world.expect_seen("large results", len(large.latencies), burst)
    world.finish(("OVERLOADED",))


def nodes_flap(world):
    """J5: a node stands still for 0.3, 0.5, 1.5 or 5 s, over and over; three routers."""
    cluster = world.make_cluster(3, 3)
    cluster.start()
    world.add(Streams, 9)
    world.add(Alone, 3)
    world.begin()
    while world.sleep(world.random.uniform(0.2, 1.0)):
        stand_still(world, world.random.choice(cluster.nodes), world.random.choice((0.3, 0.5, 1.5, 5.0)))
    world.recover()
    world.quiet()
    world.finish((*ERRORS, *LOSSES), sessions=800)


def routers_disagree(world):
    """J6: one of two routers does not see one of the nodes; clients begin with one nonce through both at once."""
    network = Namespaces()
    cluster = world.make_cluster(2, 3, TIMED, network)
    cluster.start()
    router, node = cluster.routers[0], cluster.nodes[0]
    world.add(Twins, 6)
    world.add(Streams, 3)
    world.begin()
    while world.sleep(world.random.uniform(1.0, 2.0)):
        network.cut(node.host, router.host.address)
        network.cut(router.host, node.host.address)
        world.sleep(world.random.uniform(0.3, 4.0))
        network.mend(node.host, router.host.address)
        network.mend(router.host, node.host.address)
    world.recover()
    world.quiet()
    world.finish((*ERRORS, *LOSSES), sessions=500)


def processor_quota(world):
    """J13: a router or a node gets 5 % of a processor for 2 s of every 5."""
    from campaign_limits import ProcessorGroup

    cluster = world.make_cluster(2, 2)
    cluster.start()
    groups = {}
    for member in world.members:
        groups[member] = ProcessorGroup(f"{world.folder.name}-{member.name}", member.process.pid)
        world.closing.append(groups[member])
    world.add(Streams, 8, deadlines=DEADLINES)
    world.add(Alone, 2, deadlines=DEADLINES)
    world.begin()
    while world.sleep(3.0):
        group = groups[world.random.choice(world.members)]
        group.limit(0.05)
        world.sleep(2.0)
        group.limit(None)
    world.recover()
    world.quiet()
    world.finish((*ERRORS, *LOSSES), sessions=800, replaced=5)
