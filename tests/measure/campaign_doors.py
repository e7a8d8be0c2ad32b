"""Scenarios of the campaign at the doors: HTTP through routers that come and go, and clients that are not who they seem."""

import itertools
import signal
import subprocess
import time

import zmq
from campaign_clients import Client, Comers, Streams
from campaign_history import hexadecimal, tokens_of
from campaign_http import Sequences
from campaign_world import ERRORS, LOSSES
from volvox_capnp import Malformed
from volvox_wire import (Chain, SessionToken, VolvoxError, decode_body, decode_reply_header, encode_body, encode_header, is_pong,
                         read_reply_header, tensor)  # fmt: skip

FIRST_NUMBER = 0x6B8B4567  # from which libzmq counts nameless peers unless it is told otherwise


def routers_restart(world):
    """J7: every 3 s a router is killed, or told to stop, and started again, under sequences over HTTP."""
    cluster = world.make_cluster(2, 2, http=True)
    cluster.start()
    world.add(Sequences, 8, servers={router.name: router.http for router in cluster.routers})
    world.begin()
    for k in itertools.count():
        if not world.sleep(3.0):
            break
        router = cluster.routers[k % 2]
        if world.random.random() < 0.5:
            router.send(signal.SIGKILL)
        else:
            router.process.terminate()
            router.process.wait(20)
        router.start()
    world.recover()
    world.quiet()
    world.finish((*ERRORS, *LOSSES), sessions=1000)


class Named(Client):
    """Names itself as others do, asks under the numbers that others use, and leaves with requests under way, again and again.
    Whoever names himself may be shut out; he must not be told what another asked."""

    names = ("alice", "bob", "\x00\x00\x00\x00\x01")
    numbers = range(1, 4)

    def step(self):
        context = zmq.Context.instance()
        socket = context.socket(zmq.DEALER)
        socket.linger, socket.routing_id = 0, self.random.choice(self.names).encode("latin1")
        server, endpoint = self.random.choice(list(self.servers.items()))
        socket.connect(endpoint)
        asked = {number: self.ask(socket, server, number) for number in self.numbers}
        until = time.monotonic() + self.random.uniform(0.01, 0.3)
        while (left := until - time.monotonic()) > 0 and asked:
            if socket.poll(1000 * left):
                self.hear(socket.recv_multipart(), asked)
        for number in asked.values():
            self.journal.add("gave up", id=number, why="left")
        socket.close()

    def ask(self, socket, server, number):
        content = self.new_content(1, 60)
        header = encode_header("infer", number, "check", cells=content[1])
        body = encode_body(Chain(content[1]), {"tokens": tensor(list(tokens_of(*content)))})
        self.journal.add("send", id=self.contents, model="check", op="infer", content=content, via=server)
        socket.send_multipart([header, body])
        return self.contents

    def hear(self, frames, asked):
        try:
            number, root = read_reply_header(frames[0])
            header = decode_reply_header(root)
            if is_pong(root):
                return
            if number not in asked:
                return self.journal.add("stray", number=number)
            if header.error is not None:
                facts = {"code": header.error.code.name, "message": header.error.message, "decided": True}
            else:
                (state,) = decode_body(frames[1]).values()
                facts = {"code": "OK", "state": hexadecimal(int.from_bytes(bytes(state.data), "little"))}
            self.journal.add("answer", id=asked.pop(number), **facts)
        except (Malformed, VolvoxError, IndexError) as problem:
            self.journal.add("stray", problem=repr(problem))


class SameNonce(Streams):
    """Begins with the nonces that others use as well, one after the other, each with a content of its own."""

    def new_token(self):
        return SessionToken(operation="begin", nonce=self.sessions)


class Forgers:
    """Sockets that have taken the numbers which nameless peers would be given next."""

    def __init__(self, endpoint, count=60):
        self.context, self.sockets = zmq.Context(), []
        for k in range(count):
            socket = self.context.socket(zmq.DEALER)
            socket.linger, socket.routing_id = 0, b"\0" + (FIRST_NUMBER + 5 + 7 * k).to_bytes(4, "big")
            socket.connect(endpoint)
            socket.send_multipart([encode_header("ping", k + 1), b""])
            self.sockets.append(socket)

    def close(self):
        self.context.destroy(linger=0)


def impostor(world, node):
    """A second process under the node's name, for some seconds. Whether it says that it was refused, and how often that it has
    joined; and joins of all nodes meanwhile: one that is pushed out by it comes back."""
    before = world.cluster.sum("volvox_cluster_joins_total")
    command = [*node.command]
    command[command.index("--metrics") + 1] = ""
    command[command.index("--admin") + 1] = ""
    path = world.folder / "impostor.log"
    with open(path, "wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    world.sleep(4.0)
    joins = world.cluster.sum("volvox_cluster_joins_total") - before
    process.terminate()
    process.wait(20)
    said = path.read_text(encoding="utf-8")
    return "refuses this node" in said, said.count("joined router"), joins


def identities(world):
    """J15: clients with equal, forged and reused names and nonces, which leave and come back with requests under way; two nodes of
    one name."""
    cluster = world.make_cluster(2, 2)
    cluster.start()
    router = cluster.routers[0]
    forgers = Forgers(router.endpoint)
    world.closing.append(forgers)
    world.add(Named, 3)
    world.add(Comers, 2, servers={router.name: router.endpoint}, window=1, pause=0.01)
    world.add(SameNonce, 4, cancelled=0.0)
    world.add(Streams, 2)
    world.begin()
    found = [(False, 0, 0)]
    while world.sleep(min(8.0, world.seconds / 8)):
        found.append(impostor(world, cluster.nodes[0]))
    refused, let_in, joins = (sum(column) for column in zip(*found))
    world.recover()
    world.quiet()
    world.expect("second nodes of one name that were let in", let_in, at_most=0)
    world.expect("joins while they tried", joins, at_most=0)
    world.expect_seen("second nodes of one name that were refused", refused, 8)
    world.finish((*ERRORS, *LOSSES), sessions=500)
