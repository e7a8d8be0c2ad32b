"""Scenarios of the campaign in which the operator does what operators do: drains, reloads, changes keys and clocks."""

import collections
import itertools
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time

from campaign_clients import Alone, Comers, Streams
from campaign_single import health
from campaign_threads import held, threads_named
from campaign_world import CPU, ERRORS, LOSSES, TIMED
from volvox_client import Client as Library
from volvox_wire import VolvoxError

DAY_S = 86_400
DRAIN_S = 10.0  # server.drain_timeout_ms; after it SIGKILL
COPY_TIMEOUT_S, COPY_HANGS_S = 1.0, 4.0  # device.task_timeout_ms, and how long a copy hangs
HANGING_COPY = "the copy of a session's state has taken"  # in a node's log


def storm(world, node, killed):
    """Drains by both routers and SIGTERM, in any order and close together; SIGKILL when it takes longer than it may."""
    orders = [lambda r=router: world.command("drain", node.name, "--admin", r.admin) for router in world.cluster.routers]
    orders.append(node.process.terminate)
    world.random.shuffle(orders)
    threads = [threading.Thread(target=order) for order in orders[: world.random.randint(2, 3)]]
    for thread in threads:
        thread.start()
        time.sleep(world.random.uniform(0.0, 0.2))
    for thread in threads:
        thread.join()
    try:
        status = node.process.wait(DRAIN_S + 2)
    except subprocess.TimeoutExpired:
        node.send(signal.SIGKILL)
        killed.append(node.name)
        return
    if status != 0:
        world.wrong("exit status", f"{node.name} after a drain: {status}; {world.last_line(node)}")


def drain_storms(world):
    """J8: nodes are drained by two routers and told to stop, in any order, with large results under way."""
    cluster = world.make_cluster(2, 3, CPU, models=(("check",), ("every", "--every-step")))
    cluster.start()
    world.add(Alone, 2, name="large", model="every", lengths=(1, 25_000), contents=3, window=8, patience=60.0)
    world.add(Alone, 2, window=2)
    world.add(Streams, 4)
    world.begin()
    killed, drains = [], 0
    for k in itertools.count():
        if not world.sleep(2.0):
            break
        node = cluster.nodes[k % 3]
        storm(world, node, killed)
        node.start()
        cluster.wait_for_members()
        drains += 1
    world.recover()
    world.quiet()
    world.expect("nodes that did not end in time", len(killed), at_most=0)
    world.expect_seen("drains", drains, 20)
    # A part may be told that its session is over, a session that is draining too; a request that stands alone is not lost.
    world.finish((*ERRORS, *LOSSES), sessions=500)
    refused = world.counts.get("alone refused: UNAVAILABLE", 0)
    world.expect("requests that stood alone and were refused UNAVAILABLE", refused, at_most=0)


def rolling_reloads(world):
    """J9: every 2 s version 2 of the model is loaded on, or taken from, a node; version 1 is everywhere, all the time."""
    cluster = world.make_cluster(2, 3)
    folder = cluster.models / "check"
    cluster.start()
    shutil.copytree(folder / "1", folder / "2")
    world.add(Alone, 3, version=1)
    world.add(Streams, 5, name="steady", version=1)
    world.add(Streams, 3, name="newest")
    world.begin()
    loaded, changes = set(), 0
    while world.sleep(2.0):
        node = world.random.choice(cluster.nodes)
        what = "unload" if node.name in loaded else "load"
        done = world.command("models", what, "check", "--version", 2, "--admin", node.admin)
        if done.returncode != 0:
            world.wrong("operator", f"{what} on {node.name}: {done.stderr.strip()}")
        loaded ^= {node.name}
        changes += 1
    world.recover()
    world.quiet()
    world.expect_seen("changes of models", changes, 30)
    world.finish(("CANCELLED", "OVERLOADED", *LOSSES, "UNAVAILABLE"), sessions=800)
    for what in ("alone refused: UNAVAILABLE", "steady refused: UNAVAILABLE", "steady refused: SESSION_LOST"):
        world.expect(what, world.counts.get(what, 0), at_most=0)


class KeyOf:
    """A client's key, which changes: in place, or by renaming a new file over the old one."""

    def __init__(self, world, keys, name):
        self.world, self.keys, self.name, self.changes = world, keys, name, 0
        self.public, self.secret = keys / "clients" / f"{name}.key", keys / f"{name}.key_secret"

    def change(self):
        """The file with the secret key of before, which must not be let in any more."""
        self.changes += 1
        fresh = self.world.folder / f"keys{self.changes}"
        made = self.world.command("keys", fresh, "--client", self.name)
        if made.returncode:
            raise RuntimeError(made.stderr)
        old = self.world.folder / f"old{self.changes}.key_secret"
        shutil.copy(self.secret, old)
        shutil.copy(fresh / f"{self.name}.key_secret", self.secret)
        new = fresh / "clients" / f"{self.name}.key"
        if self.changes % 2:
            self.public.write_bytes(new.read_bytes())  # in place: the folder's time of change stays
        else:
            os.replace(new, self.public)
        return old


def let_in(world, server, secret, within):
    """Whether a new connection with this key is answered, at some time within so many seconds."""
    until = time.monotonic() + within
    while True:
        try:
            with Library(server.endpoint, server_key=str(world.keys / "server.key"), client_key=str(secret), connect_timeout=1.0) as client:
                client.ping(2.0)
                return True
        except VolvoxError:
            if time.monotonic() >= until:
                return False


def encrypt(world):
    """Keys for clients, certificates for the cluster; all members use them."""
    cluster = world.cluster
    world.keys = world.folder / "keys"
    names = [word for member in world.members for word in ("--cluster", member.name)]
    made = world.command("keys", world.keys, "--client", "alice", "--client", "carol", *names)
    if made.returncode:
        raise RuntimeError(made.stderr)
    for member in world.members:
        files = world.keys / "cluster"
        tls = ["--tls-certificate", files / f"{member.name}.crt", "--tls-key", files / f"{member.name}.key", "--tls-ca", files / "ca.crt"]
        member.command += map(str, tls)
    for router in cluster.routers:
        router.command += ["--server-key", str(world.keys / "server.key_secret"), "--clients", str(world.keys / "clients")]


def clocks_and_keys(world):
    """J14: wall clocks jump by a day, or beyond the end of all certificates; a client's key is changed in place and by rename."""
    cluster = world.make_cluster(2, 2)
    encrypt(world)
    shims = [world.preload(member, "clock_jumps") for member in world.members]
    cluster.start()
    keys = (str(world.keys / "server.key"), str(world.keys / "alice.key_secret"))
    world.add(Streams, 5, keys=keys, deadlines=(2.0, 5.0), cancelled=0.0)
    world.add(Alone, 2, keys=keys, deadlines=(2.0, 5.0))
    world.add(Comers, 1, keys=keys, window=1)
    carol = KeyOf(world, world.keys, "carol")
    joins = cluster.sum("volvox_cluster_joins_total")
    world.begin()
    jumps = 0
    while world.sleep(1.0):
        for shim in shims:
            shim.set(world.random.choice((0, DAY_S, -DAY_S, 400 * DAY_S)))
        jumps += 1
        if jumps % 3 == 0:
            old, router = carol.change(), world.random.choice(cluster.routers)
            if not let_in(world, router, carol.secret, 5.0):
                how = "written over" if carol.changes % 2 else "renamed"
                world.wrong("keys", f"a new key is not let in by {router.name} 5 s after its file was {how}")
            if let_in(world, router, old, 0.0):
                world.wrong("keys", f"a key that was replaced is let in by {router.name}")
    for shim in shims:
        shim.set(0)
    world.quiet()
    world.expect("links that were made anew", cluster.sum("volvox_cluster_joins_total") - joins, at_most=0)
    world.expect_seen("jumps", jumps, 30)
    world.finish(("OVERLOADED",), sessions=500)


def hold_copies(world, node, thread):
    """A device of `node` makes no copy for a while: whether that was seen, and how long that took."""
    single, before = node.devices == 1, pathlib.Path(node.log).read_text(errors="replace").count(HANGING_COPY)
    begun, good = time.monotonic(), sum(client.good for client in world.clients)
    with held(node.process.pid, thread):
        seen = None
        while time.monotonic() - begun < COPY_HANGS_S:
            time.sleep(0.05)
            if pathlib.Path(node.log).read_text(errors="replace").count(HANGING_COPY) == before:
                continue
            seen = time.monotonic() - begun
            if single and not comes_true(2.0, lambda: health(node, "readyz") == 503):
                world.wrong("health", f"{node.name} has one device, which hangs, and says that it is ready")
            break
        rest = begun + COPY_HANGS_S - time.monotonic()
        time.sleep(max(0.0, rest))
        if health(node) != 200:
            world.wrong("health", f"{node.name} says that it is not alive, for a copy of a state hangs")
        if sum(client.good for client in world.clients) == good:
            world.wrong("stillstand", f"nobody was answered while a copy of {node.name} hung")
    if not comes_true(5.0, lambda: health(node, "readyz") == 200):
        world.wrong("health", f"{node.name} is not ready 5 s after its copies go on")
    return seen


def comes_true(within, condition):
    until = time.monotonic() + within
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def hanging_moves(world):
    """J17: the thread that copies a device's states stands still for 4 s; a node has one device, another has two."""
    config = TIMED.replace("timed_row_us", f"task_timeout_ms = {int(1000 * COPY_TIMEOUT_S)}\ntimed_row_us")
    cluster = world.make_cluster(2, 2, config + "[sessions]\nmax_resident = 6\n")
    for devices, node in enumerate(cluster.nodes, start=1):
        node.devices = devices
        node.command += ["--devices", str(devices)]
    cluster.start()
    world.add(Streams, 30)
    world.add(Alone, 2, window=2)
    world.begin()
    latest, seen = 0.0, collections.Counter()
    for k in itertools.count():
        if not world.sleep(1.0):
            break
        node = cluster.nodes[k % 2]
        threads = [thread for number in range(node.devices) for thread in threads_named(node.process.pid, f"copies {number}")]
        if not threads:
            continue
        took = hold_copies(world, node, world.random.choice(threads))
        if took is not None:
            latest, seen[node.devices] = max(latest, took), seen[node.devices] + 1
    world.recover()
    world.quiet()
    # Until a copy is due, and then device.task_timeout_ms.
    world.expect_prompt("seconds until a hanging copy is said", latest, COPY_TIMEOUT_S + 2.0)
    world.expect_seen("hanging copies", seen.total(), 10)
    if world.seconds >= 60:
        world.expect_seen("of them, of one of two devices", seen[2], 3)
    world.finish((*ERRORS, *LOSSES), sessions=500)
