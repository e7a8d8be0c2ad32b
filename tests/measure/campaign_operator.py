"""Scenarios of the campaign in which the operator does what operators do: drains, reloads, changes keys and clocks."""

import itertools
import os
import shutil
import signal
import subprocess
import threading
import time

from campaign_clients import Alone, Comers, Streams
from campaign_single import health, look_at
from campaign_world import CPU, ERRORS, LOSSES, TIMED
from volvox_client import Client as Library
from volvox_wire import VolvoxError

DAY_S = 86_400
DRAIN_S = 10.0  # server.drain_timeout_ms; after it SIGKILL


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
        world.wrong("exit status", f"{node.name} after a drain: {status}; {world.last_lines(node)}")


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


COPY_TIMEOUT_S = 1.0  # device.task_timeout_ms
PATIENCE_S = 6.0  # of the clients: less than a hang lasts, so that who waits for its end is seen
HANGS = "the device hangs: a copy"  # what /readyz says
COPYING = 'volvox_session_states{where="copying"}'


def hanging_config(world, name, devices, places):
    """Of a process whose devices Hangs can have hang; so many sessions have places on them."""
    file = world.folder / f"{name}.hang"
    timing = f"count = {devices}\ntask_timeout_ms = {1000 * COPY_TIMEOUT_S:.0f}\ntimed_hang_file = \"{file}\"\n"
    return TIMED.replace("[batching]", timing + "[batching]") + f"[sessions]\nmax_resident = {places}\n"


class Hangs:
    """Has devices hang, and looks at what their processes say of it and at who is still served."""

    def __init__(self, world, alone, streams):
        self.world, self.alone, self.streams = world, alone, streams
        self.found, self.mended, self.alone_s, self.streams_s = [], [], 0.0, 0.0

    def look(self):
        now = time.monotonic()
        self.alone_s = max(self.alone_s, now - min(client.last_ok for client in self.alone))
        self.streams_s = max(self.streams_s, now - max(client.last_ok for client in self.streams))

    def hold(self, member, device, seconds):
        """So long no copy of a state off the device ends. It is found out by the first one that begins."""
        file = self.world.folder / f"{member.name}.hang.{device}"
        begin, copying, found, healthy = time.monotonic(), None, None, False
        file.touch()
        while time.monotonic() < begin + seconds and self.world.sleep(0.1):
            self.look()
            if found is None:
                copying = (copying or time.monotonic()) if member.page().get(COPYING, 0) > 0 else None
                if HANGS in look_at(member, "readyz")[1]:
                    found = time.monotonic() - (copying or begin)
            healthy = healthy or (found is not None and health(member) == 200)
        lasted = time.monotonic() - begin
        file.unlink()
        if found is None:
            if lasted > PATIENCE_S:
                self.world.wrong("hang not seen", f"{member.name}: /readyz said nothing of it for {lasted:.1f} s")
            return
        self.found.append(found)
        if not healthy:
            self.world.wrong("health", f"{member.name}: /healthz was never 200 while a copy hung; {self.world.last_lines(member)}")
        self.wait_until_well(member)

    def wait_until_well(self, member):
        begin = time.monotonic()
        while look_at(member, "readyz") != (200, "ready\n") and time.monotonic() < begin + 20:
            self.look()
            time.sleep(0.05)
        self.mended.append(time.monotonic() - begin)


def hanging_moves(world):
    """J17: no copy of a state off a device ends for up to 12 s: off the only one of a node, or one of a server's two."""
    cluster = world.make_cluster(1, 2)
    for node in cluster.nodes:
        own = world.folder / f"{node.name}.toml"
        own.write_text(hanging_config(world, node.name, 1, 1), encoding="utf-8")
        node.command[node.command.index("--config") + 1] = str(own)
    cluster.start()
    pair = world.add_single("pair", hanging_config(world, "pair", 2, 6))
    at_pair = {"servers": {"pair": pair.endpoint}, "patience": PATIENCE_S}
    alone = world.add(Alone, 2, name="standing", **at_pair) + world.add(Alone, 2, patience=PATIENCE_S)
    streams = world.add(Streams, 9, name="kept", **at_pair)
    world.add(Streams, 10, patience=PATIENCE_S)
    world.begin()
    hangs, rounds = Hangs(world, alone, streams), 0
    where = itertools.cycle([(pair, 0), (cluster.nodes[0], 0), (pair, 1), (cluster.nodes[1], 0)])
    while world.sleep(1.0):
        member, device = next(where)
        if rounds % 3 == 2:  # it is only slow
            hangs.hold(member, device, world.random.uniform(0.1, 0.5) * COPY_TIMEOUT_S)
        hangs.hold(member, device, world.random.uniform(8.0, 12.0))
        rounds += 1
    world.recover()
    world.quiet()
    copies = {what: sum(member.page().get(f"volvox_session_{what}_total", 0) for member in (pair, *cluster.nodes))
              for what in ("spills", "restores", "moves")}  # fmt: skip
    world.notes.append(f"states copied: {copies}; sessions that were lost: see SESSION_LOST")
    world.expect_prompt("/readyz says that the device hangs after a copy began, s", max(hangs.found, default=0.0), COPY_TIMEOUT_S + 2.0)
    world.expect_prompt("/readyz says that all is well again after, s", max(hangs.mended, default=0.0), 2.0)
    world.expect_prompt("longest time without an answer for one that sends no sessions, s", hangs.alone_s, 3.0)
    world.expect_prompt("longest time without an answer for the sessions of the server with two devices, s", hangs.streams_s, 3.0)
    world.expect_seen("hangs that /readyz told of", len(hangs.found), 8)
    world.expect_seen("states spilled", copies["spills"], 200)
    world.finish((*ERRORS, *LOSSES), sessions=500)
    refused = world.counts.get("standing refused: UNAVAILABLE", 0)
    world.expect("requests refused UNAVAILABLE by the server that has another device", refused, at_most=0)
