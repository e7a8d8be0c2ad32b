"""Scenarios of the campaign in which a process has too little: of descriptors, memory, or room for its log."""

import os
import resource
import socket
import threading
import time

import zmq
import zmq.auth
from campaign_clients import Alone, Comers, Streams
from campaign_limits import MemoryGroup
from campaign_single import Unread, health
from campaign_world import CPU, ERRORS, LOSSES, TIMED
from served import cpu_s_of
from volvox_client import Client as Library
from volvox_wire import Chain, VolvoxError, encode_body, encode_header, tensor

MIB = 1 << 20
IDLE, SPIN_SHARE, WATCHED_S = 140, 0.5, 2.0
BOUNDS = """
[limits]
max_request_mib_in_flight = 16
max_result_mib_in_flight = 32
max_reply_mib_waiting = 16
max_reply_mib_per_client = 8
"""


def rss_of(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def answers(endpoint, seconds):
    """How long it took until a new connection had a right answer; None: not in that time."""
    begin = time.monotonic()
    while (left := begin + seconds - time.monotonic()) > 0:
        try:
            with Library(endpoint, connect_timeout=min(1.0, left), timeout=2.0) as client:
                client.infer("check", {"tokens": [1, 2]})
                return time.monotonic() - begin
        except VolvoxError:
            time.sleep(0.05)
    return None


class Crowd:
    """So many connections that say nothing."""

    def __init__(self, address, count=IDLE):
        host, port = address.removeprefix("tcp://").rsplit(":", 1)
        self.sockets = []
        for _ in range(count):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex((host, int(port)))
            self.sockets.append(one)

    def close(self):
        for one in self.sockets:
            one.close()


def descriptors(world):
    """J10: the limit of descriptors of a router, node or server shrinks to what it has, idle connections come, and it grows again."""
    cluster = world.make_cluster(1, 1)
    cluster.start()
    single = world.add_single("serve", TIMED)
    world.add(Alone, 2, pause=0.2)
    world.add(Alone, 2, pause=0.2, servers={"serve": single.endpoint}, name="standing")
    world.begin()
    rounds, spins, slowest = 0, 0.0, 0.0
    doors = [(single, single.endpoint), (single, single.metrics), (cluster.routers[0], cluster.routers[0].endpoint),
             (cluster.routers[0], cluster.routers[0].metrics), (cluster.nodes[0], cluster.nodes[0].metrics)]  # fmt: skip
    while world.sleep(1.0):
        member, door = doors[rounds % len(doors)]
        spins = max(spins, crowded(world, member, door))
        took = answers(member.endpoint, 10.0) if hasattr(member, "endpoint") else 0.0
        slowest = max(slowest, 99.0 if took is None else took)
        rounds += 1
    world.recover()
    world.quiet()
    world.expect("a core's share while descriptors are out", spins, at_most=SPIN_SHARE)
    world.expect_prompt("new connections are answered after, s", slowest, 5.0)
    world.expect_seen("rounds", rounds, 25)
    world.finish(("OVERLOADED", "CANCELLED"))


def crowded(world, member, door):
    """The share of a core that it used while it had no descriptors left for those who wanted in."""
    pid = member.process.pid
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    used = max(map(int, os.listdir(f"/proc/{pid}/fd"))) + 1
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + 4, hard))
    crowd, begin, before = Crowd(door), time.monotonic(), cpu_s_of(pid)
    time.sleep(WATCHED_S)
    share = (cpu_s_of(pid) - before) / (time.monotonic() - begin)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
    crowd.close()
    return share


class Greedy(threading.Thread):
    """Asks for answers of 2 MiB, and reads none; says that it is there."""

    def __init__(self, endpoint):
        super().__init__(daemon=True)
        self.endpoint, self.stopping = endpoint, threading.Event()

    def run(self):
        context = zmq.Context()
        header = encode_header("infer", 1, "wide", cells=2048)
        body = encode_body(Chain(2048), {"tokens": tensor([1] * 2048)})
        while not self.stopping.is_set():
            taker = context.socket(zmq.DEALER)
            taker.linger, taker.rcvhwm, taker.rcvbuf, taker.sndhwm = 0, 1, 4096, 100
            taker.connect(self.endpoint)
            for number in range(1, 100):
                header = encode_header("infer", number, "wide", cells=2048)
                try:
                    taker.send_multipart([header, body], zmq.NOBLOCK)
                    taker.send_multipart([encode_header("ping", 0), b""], zmq.NOBLOCK)
                except zmq.Again:
                    pass
                self.stopping.wait(0.5)
            taker.close()
        context.destroy(linger=0)


class Endless(threading.Thread):
    """Sends frames of a message that never ends."""

    GREETING = b"\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL".ljust(32, b"\0") + bytes(32)
    READY = b"\x05READY\x0bSocket-Type\0\0\0\6DEALER\x08Identity\0\0\0\0"

    def __init__(self, endpoint):
        super().__init__(daemon=True)
        host, port = endpoint.removeprefix("tcp://").rsplit(":", 1)
        self.address, self.stopping, self.sent = (host, int(port)), threading.Event(), 0

    def run(self):
        frame = b"\x03" + MIB.to_bytes(8, "big") + bytes(MIB)  # long, and more follows
        while not self.stopping.wait(0.1):
            try:
                with socket.create_connection(self.address, timeout=2) as connection:
                    connection.sendall(self.GREETING + b"\x04" + bytes([len(self.READY)]) + self.READY)
                    while not self.stopping.wait(0.02):
                        connection.sendall(frame)
                        self.sent += 1
            except OSError:
                pass  # it was cut off, as it should be


def memory(world):
    """J11: a server may grow by 128 MiB; clients ask for answers of 2 MiB and read none, others send messages without an end."""
    world.make_cluster(0, 0)
    world.new_model("wide", "--hidden", "256", "--vocabulary", "16", "--every-step", kind="lstm")
    single = world.add_single("serve", CPU + BOUNDS)
    group = MemoryGroup(f"{world.folder.name}-serve", single.process.pid)
    world.closing.insert(0, group)
    honest = world.add(Comers, 2, servers={"serve": single.endpoint}, window=2)
    honest += world.add(Alone, 2, servers={"serve": single.endpoint})
    time.sleep(2.0)
    group.limit(rss_of(single.process.pid) + 128 * MIB)
    world.begin()
    harm = [Greedy(single.endpoint) for _ in range(6)] + [Endless(single.endpoint) for _ in range(2)]
    for one in harm:
        one.start()
    before = [client.good for client in honest]
    while world.sleep(1.0) and single.process.poll() is None:
        pass
    served = min(client.good - good for client, good in zip(honest, before))
    for one in harm:
        one.stopping.set()
    world.expect_alive()
    world.expect("kills for want of memory", group.kills(), at_most=0)
    world.quiet()
    for one in harm:
        one.join(20)
    world.expect("answers to the least served honest client", served, at_least=max(5, world.seconds / 2))
    world.finish(("OVERLOADED",))


def revive(world, member, statuses):
    """After its memory has come back: it serves, or is gone, or says that it is ill, and then is started again, as a supervisor
    would. What is green and serves nobody is a violation."""
    time.sleep(2.0)
    endpoint = getattr(member, "endpoint", None) or member.own
    if member.process.poll() is None:
        green = health(member) == 200
        if green and answers(endpoint, 3.0) is not None:
            return
        if green and health(member) == 200:
            world.wrong("green and serves nobody", f"{member.name}; {world.last_lines(member)}")
        member.process.kill()
    statuses.append((member.name, member.process.wait()))
    member.start()


def allocations(world):
    """J12: on a router, a node or a server one allocation in 100,000, or ten times as many, fails for some seconds."""
    cluster = world.make_cluster(1, 2)
    for node in cluster.nodes:
        node.own = f"tcp://127.0.0.1:{node.host.port()}"
        node.command[node.command.index("--listen") + 1] = node.own
    single = world.add_single("serve", TIMED, start=False)
    shims = {member: world.preload(member, "failing_malloc") for member in world.members}
    cluster.start()
    single.start()
    single.wait_until_ready()
    world.add(Alone, 2)
    world.add(Streams, 3)
    world.add(Alone, 2, servers={"serve": single.endpoint}, name="serve")
    world.add(Streams, 2, servers={"serve": single.endpoint}, name="kept")
    world.begin()
    statuses, rounds = [], 0
    while world.sleep(0.5):
        member = world.random.choice(world.members)
        shims[member].set(world.random.choice((10_000, 100_000)))
        world.sleep(world.random.uniform(0.5, 3.0))
        shims[member].set(0)
        revive(world, member, statuses)
        cluster.wait_for_members()
        rounds += 1
    world.recover()
    world.quiet()
    world.notes.append(f"processes that ended, and their status: {statuses}")
    world.expect_seen("rounds", rounds, 20)
    world.finish((*ERRORS, *LOSSES, "INTERNAL"), sessions=300)


class Strangers(threading.Thread):
    """Connect without keys, over and over, and are refused."""

    def __init__(self, endpoint):
        super().__init__(daemon=True)
        self.endpoint, self.stopping, self.tried = endpoint, threading.Event(), 0

    def run(self):
        context = zmq.Context()
        while not self.stopping.wait(0.005):
            public, secret = zmq.curve_keypair()
            one = context.socket(zmq.DEALER)
            one.linger, one.curve_serverkey, one.curve_publickey, one.curve_secretkey = 0, self.key, public, secret
            one.connect(self.endpoint)
            self.stopping.wait(0.02)
            one.close()
            self.tried += 1
        context.destroy(linger=0)


def blocked_log(world):
    """J16: nobody reads what a server logs, and connections are refused in a loop; beside it one whose log is read."""
    world.make_cluster(0, 0)
    keys = world.folder / "keys"
    world.command("keys", keys, "--client", "alice")
    security = ("--server-key", keys / "server.key_secret", "--clients", keys / "clients")
    blocked = world.add_single("blocked", TIMED, *security, kind=Unread)
    logged = world.add_single("logged", TIMED, *security)
    mine = (str(keys / "server.key"), str(keys / "alice.key_secret"))
    blocked.fill()
    clients = world.add(Comers, 2, servers={"blocked": blocked.endpoint}, keys=mine, window=2)
    clients += world.add(Streams, 3, servers={"blocked": blocked.endpoint}, keys=mine)
    world.add(Alone, 1, servers={"logged": logged.endpoint}, keys=mine)
    strangers = [Strangers(server.endpoint) for server in (blocked, blocked, logged)]
    for one in strangers:
        one.key = zmq.auth.load_certificate(str(keys / "server.key"))[0]
        one.start()
    world.begin()
    lines, begin = logged.log.read_bytes().count(b"\n"), time.monotonic()
    quiet = 0.0
    while world.sleep(0.5):
        quiet = max(quiet, time.monotonic() - min(client.last_ok for client in clients))
    rate = (logged.log.read_bytes().count(b"\n") - lines) / (time.monotonic() - begin)
    for one in strangers:
        one.stopping.set()
    world.expect_alive()
    world.quiet()
    world.expect_prompt("longest time without an answer for one client, s", quiet, 5.0)
    world.expect("lines a second", rate, at_most=10.0)
    world.expect_seen("refused connections", sum(one.tried for one in strangers), 3000)
    world.finish(("CANCELLED", "OVERLOADED"), sessions=500)
