"""Requests of the campaign's clients on bare sockets: every answer is seen and written down, late and doubled ones too."""

import random
import struct
import time

import campaign_history as history  # first: it knows where the client library is
import volvox_wire as wire
import zmq
from volvox_capnp import Malformed
from volvox_link import Link

MAX_MESSAGE = 64 << 20
POLL_S = 0.05


class Attempt:
    """A request on one connection. `answer` is what the history says of it; `gave_up` why there is none to wait for."""

    def __init__(self, number, link, patience):
        self.number, self.link, self.connection, self.until = number, link, link.connections, time.monotonic() + patience
        self.answer, self.gave_up, self.token = None, None, None

    @property
    def settled(self):
        return self.answer is not None or self.gave_up is not None

    @property
    def code(self):
        return self.answer["code"] if self.answer else None

    @property
    def done(self):
        return self.code == "OK"


class Wire:
    """A client's connections to `servers` (name → endpoint), each with a link of its own. For one thread."""

    def __init__(self, name, servers, journal, keys=(None, None)):
        self.name, self.journal, self.random = name, journal, random.Random(name)
        self.context, self.numbers, self.servers, self.keys = zmq.Context(), 0, servers, keys
        self.attempts, self.waiting = {}, set()  # by number; those that are not settled
        self.connect()

    def connect(self):
        self.links = {server: Link(self.context, at, MAX_MESSAGE, *self.keys) for server, at in self.servers.items()}
        self.names = {link: server for server, link in self.links.items()}

    def reconnect(self):
        """By connections of their own; nothing may be under way."""
        for link in self.links.values():
            link.close()
        self.connect()

    def close(self):
        self.pump(0)
        for link in self.links.values():
            link.close()
        self.context.term()

    def usable(self):
        now = time.monotonic()
        return [link for link in self.links.values() if link.answers(now)]

    def wait_for_link(self, seconds):
        """One that answers, at random; None when there is none in that time."""
        until = time.monotonic() + seconds
        while not (links := self.usable()) and time.monotonic() < until:
            self.pump(POLL_S)
        return self.random.choice(links) if links else None

    def send(self, link, model, content, *, op="infer", token=None, deadline=0.0, patience=30.0, version=0, priority="normal", **facts):
        """An Attempt; `facts` are written down. Without a connection it is given up at once."""
        self.numbers += 1
        tokens = history.tokens_of(*content) if content else ()
        body = wire.encode_body(wire.Chain(len(tokens)), {"tokens": wire.tensor(list(tokens))} if tokens else {})
        header = wire.encode_header("infer", self.numbers, model, version, priority, len(tokens), 0, token)
        if deadline:
            struct.pack_into("<Q", header, wire.DEADLINE_AT, int(deadline * 1e6))
        attempt = Attempt(self.numbers, link, patience)
        self.attempts[self.numbers] = attempt
        self.waiting.add(attempt)
        via = self.names[link]
        self.journal.add("send", id=self.numbers, model=model, op=op, content=content, via=via, deadline=deadline or None, **facts)
        if not link.send((header, body)):
            self._give_up(attempt, "disconnected")
        else:
            link.take_on(time.monotonic())
        return attempt

    def cancel(self, attempt):
        attempt.link.send((wire.encode_header("cancel", attempt.number), b""))

    def wait(self, attempts):
        """Until each is settled."""
        while not all(attempt.settled for attempt in attempts):
            self.pump(POLL_S)

    def rest(self, seconds):
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.pump(min(left, POLL_S))

    def pump(self, seconds):
        """Takes in what comes within so long, at least once."""
        poller = zmq.Poller()
        for link in self.links.values():
            poller.register(link.socket, zmq.POLLIN)
            poller.register(link.monitor, zmq.POLLIN)
        poller.poll(1000 * seconds)
        for link in self.links.values():
            self._receive(link)
            if link.watch():
                self._receive(link)
        now = time.monotonic()
        for link in self.links.values():
            link.ping_in_time(now)
        for attempt in list(self.waiting):
            self._look_at(attempt, now)

    def _look_at(self, attempt, now):
        link = attempt.link
        if not link.connected or link.connections != attempt.connection:
            self._give_up(attempt, "disconnected")
        elif not link.answers(now):
            self._give_up(attempt, "silence")
        elif now > attempt.until:
            self._give_up(attempt, "patience")

    def _give_up(self, attempt, why):
        attempt.gave_up = why
        self.waiting.discard(attempt)
        attempt.link.busy -= why != "disconnected" or attempt.link.busy > 0
        self.journal.add("gave up", id=attempt.number, why=why)

    def _receive(self, link):
        while (frames := link.receive()) is not None:
            try:
                number, root = wire.read_reply_header(frames[0])
                if wire.is_pong(root):
                    continue
                header = wire.decode_reply_header(root)
                if header.final:
                    self._settle(number, header, frames[1])
            except (Malformed, wire.VolvoxError, IndexError) as problem:
                self.journal.add("stray", problem=repr(problem))

    def _settle(self, number, header, body):
        answer = self._facts_of(header, body)
        self.journal.add("answer", id=number, **answer)
        attempt = self.attempts.get(number)
        if attempt is None or attempt.answer is not None:
            return
        if attempt in self.waiting:
            attempt.link.busy -= 1
            self.waiting.discard(attempt)
        attempt.answer, attempt.token = answer, header.fields["session"]

    def _facts_of(self, header, body):
        if header.error is not None:
            error = header.error
            facts = {"code": error.code.name, "message": error.message, "decided": not error.undecided}
            return facts | {"retry_after": error.retry_after}
        facts = {"code": "OK", "server": header.fields["server"]}
        if (token := header.fields["session"]) is not None:
            facts |= {"token": f"{token.id_hi:x}:{token.id_lo:x}", "version": token.model_version}
        for tensor in wire.decode_body(body).values():
            value = bytes(tensor.data)
            alone = tensor.type == "u64" and len(value) == 8
            facts["state"] = history.hexadecimal(int.from_bytes(value, "little")) if alone else history.digest(value)
        return facts
