"""A client for Volvox: Python 3.9 or newer, and pyzmq (Debian: python3-zmq). numpy is used if it is there.

    from volvox_client import Client
    with Client("tcp://127.0.0.1:7100") as client:
        reply = client.infer("lstm", {"tokens": [17, 4, 256]})
        print(reply["h"])

Many requests in flight: `submit` returns a future (concurrent.futures), whose result is a Reply. What fails raises
VolvoxError. docs/protocol.md says what travels; times are in seconds here.

With one server nothing is ever sent twice: when the connection breaks, what was in flight fails with UNAVAILABLE. With
several, the routers of a cluster ("tcp://a,tcp://b"), a request whose router is gone, silent or unable goes to another.

The folder of this file must be on Python's path: PYTHONPATH=protocol/python.
"""

from __future__ import annotations

import atexit
import collections
import concurrent.futures
import heapq
import logging
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Optional, Union

import zmq

from volvox_capnp import Malformed
from volvox_link import Link
from volvox_wire import (DEADLINE_AT, STREAM_FROM_AT, VERSION_AT, Chain, Code, Graph, Lattice, Part, Reply, Sequences, SessionToken, Tensor,
                         Tree, VolvoxError, cells_of, decode_body, decode_bundle, decode_reply_header, encode_body, encode_bundle,
                         encode_header, input_tensor, is_pong, read_reply_header, tensor)  # fmt: skip

__all__ = ["Chain", "Client", "Code", "Graph", "Lattice", "Part", "Pending", "Reply", "Sequences", "SessionToken", "Tensor", "Tree",
           "VolvoxError", "tensor"]  # fmt: skip

DEADLINE_GRACE = 5.0  # beyond the deadline that the server keeps, before the client gives up by itself
MAX_ATTEMPTS = 3  # at one request, the first included
LONGEST = 1e9  # seconds of a deadline or a time limit: 30 years, of which the microseconds still travel
LOST = "the connection broke before the answer came; the request may or may not have run"


class Pending(concurrent.futures.Future):
    """The answer to come: `result(timeout)` is a Reply or raises VolvoxError. All that concurrent.futures and
    asyncio.wrap_future do with futures works; callbacks run on the client's thread and must not block it."""

    def __init__(self, client, request_id, expires, deadline, header, body, on_partial, repeatable, in_session):
        super().__init__()
        self.request_id, self._client, self._expires, self._deadline = request_id, client, expires, deadline
        self._header, self._body, self._size = header, body, len(body)
        self._on_partial, self._next_partial, self._version = on_partial, 0, 0
        self._repeatable, self._in_session = repeatable, in_session  # repeatable: by another server
        self._attempts, self._doubtful = [], False  # (link, its connection); nobody knows whether an earlier one was done
        self._bundle = None  # that it is a part of

    def cancel(self) -> bool:
        """Asks the server to stop. The request is still answered: CANCELLED, or its result if that was under way.
        False if it has been answered already."""
        if self.done():
            return False
        self._repeatable = False
        self._client._outbox.append(self.request_id)
        self._client._wake()
        return True

    def _tell_to_stop(self):
        if self._attempts:
            self._attempts[-1][0].send((encode_header("cancel", self.request_id), b""))


class _Bundle:
    """Parts that are sent in one message; a Pending for each, with ids that follow each other."""

    def __init__(self, parts, header, body, deadline):
        self.parts, self.header, self.body, self.deadline, self.left = parts, header, body, deadline, len(parts)
        for part in parts:
            part._bundle = self

    def waiting(self):
        return [part for part in self.parts if not part.done()]


class Client:
    """A connection to a server, or to each router of a cluster; any number of threads, many requests in flight. A thread
    of its own moves the bytes. Use it in a `with`, or close() it.

    endpoint            "tcp://host:port" or "ipc:///path"; several with commas. One must answer for a start
    timeout             for a request that says none: without an answer by then it fails, DEADLINE_EXCEEDED
    connect_timeout     how long the constructor waits for the server before it raises UNAVAILABLE; by default `timeout`, but
                        at most 5 s
    max_in_flight       requests, and max_bytes_in_flight bytes of their bodies: beyond it submit raises OVERLOADED
    max_message_bytes   the largest request and reply; the server's wire.max_body_bytes
    server_key          file with the public key of a server that encrypts, and client_key: file with this client's secret
                        key. Without the right ones the constructor raises UNAUTHENTICATED
    """

    def __init__(self, endpoint: str, *, timeout: float = 30.0, connect_timeout: Optional[float] = None,
                 max_in_flight: int = 65536, max_bytes_in_flight: int = 256 << 20, max_message_bytes: int = 16 << 20,
                 server_key: Optional[str] = None, client_key: Optional[str] = None) -> None:  # fmt: skip
        if connect_timeout is None:
            connect_timeout = min(5.0, timeout)
        self._endpoint, self._timeout = endpoint, timeout
        self._max_in_flight, self._max_bytes, self._max_message = max_in_flight, max_bytes_in_flight, max_message_bytes
        self._lock = threading.Lock()  # of what follows, up to the blank line
        self._next_id = 1
        self._pending, self._bytes = {}, 0
        self._expiries = []  # heap of (time, request id), some of them answered long ago
        self._outbox = collections.deque()  # Pending, _Bundle, or the id of a Pending to cancel
        self._bundles = {}  # by the id of the first part; with parts that have no answer
        self._closed = None  # why nothing can be sent any more

        self.unknown_replies = 0  # to nothing that was asked or still waits, or unreadable; for logs and tests
        self.resent = 0  # requests that went to another server
        self._wake_reader, self._wake_writer = socket.socketpair()
        self._wake_reader.setblocking(False)
        self._wake_writer.setblocking(False)
        self._settled = threading.Event()  # a first connection stands, or all were refused
        endpoints = [part.strip() for part in endpoint.split(",") if part.strip()]
        if not endpoints:
            raise VolvoxError(Code.INVALID_ARGUMENT, "no server is named; write tcp://HOST:PORT or ipc://PATH")
        self._open(endpoints, server_key, client_key)
        self._thread = threading.Thread(target=self._run, name="volvox-client", daemon=True)
        self._thread.start()
        atexit.register(self.close)
        if not self._settled.wait(connect_timeout) or not self.connected:
            self.close()
            if all(link.refused for link in self._links):
                raise VolvoxError(Code.UNAUTHENTICATED, f"the server at {endpoint} refuses the keys, or that there are none")
            hint = "has it room for more connections?" if any(link.turned_away for link in self._links) else "is it running?"
            raise VolvoxError(Code.UNAVAILABLE, f"no server answers at {endpoint} within {connect_timeout} s; {hint}")

    def _open(self, endpoints, server_key, client_key):
        self._context, self._links, self._turn = zmq.Context(), [], 0
        try:
            for endpoint in endpoints:
                self._links.append(Link(self._context, endpoint, self._max_message, server_key, client_key))
        except VolvoxError:
            self._close_sockets()
            raise
        self._poller = zmq.Poller()
        self._poller.register(self._wake_reader, zmq.POLLIN)
        for link in self._links:
            self._poller.register(link.monitor, zmq.POLLIN)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def infer(self, model: str, inputs: Mapping[str, Any], **options: Any) -> Reply:
        """Runs a model and waits for its Reply. Inputs are arrays or lists by name (see `tensor`); options as submit's."""
        pending = self.submit(model, inputs, **options)
        try:
            return pending.result()
        except KeyboardInterrupt:
            pending.cancel()
            raise

    def submit(self, model: str, inputs: Mapping[str, Any], *,
               structure: Union[Chain, Sequences, Tree, Lattice, Graph, None] = None, outputs: Iterable[str] = (), version: int = 0,
               priority: str = "normal", deadline: float = 0.0, timeout: Optional[float] = None,
               session: Optional[SessionToken] = None, trace: Union[int, str] = 0,
               on_partial: Optional[Callable[[Reply], None]] = None, stream_from: int = 0) -> Pending:  # fmt: skip
        """Sends a request and returns its Pending. What can be seen to be wrong is raised here.

        structure   Chain, Sequences, Tree, Lattice or Graph; by default a chain over the first input's rows
        outputs     names of those wanted; none: all that the model declares
        version     of the model; 0: the newest
        priority    "high", "normal" or "low"
        deadline    seconds that the server has; 0: no deadline
        timeout     seconds after which the client gives up by itself; by default somewhat longer than the deadline, or
                    the client's timeout
        session     a SessionToken; one that ends its session may come without inputs
        trace       a `traceparent` of W3C Trace Context, whose span the server's then belongs to; or a number of up to 128
                    bits, which alone names the trace
        on_partial  called on the client's thread with each partial Reply: partial t holds row t of the outputs that have
                    one for every step; the answer then lacks them
        stream_from the first partial that is wanted
        """
        try:
            if not isinstance(inputs, Mapping):
                raise VolvoxError(Code.INVALID_ARGUMENT, "inputs are given by name: {'tokens': [12, 7, 301]}")
            tensors = {name: input_tensor(values) for name, values in inputs.items()}
            if structure is None:
                shape = next(iter(tensors.values())).shape if tensors else ()
                structure = Chain(shape[0] if shape else 1) if tensors else None
            if structure is None and session is not None:
                structure = Chain(0)  # only ends the session
            body = encode_body(structure, tensors, list(outputs))
            streamed = None if on_partial is None else stream_from
            facts = (model, version, priority, cells_of(structure), trace, session, streamed)
            if timeout is None:
                timeout = deadline + DEADLINE_GRACE if deadline else self._timeout
            return self._send("infer", facts, body, timeout, deadline, on_partial)
        except (struct.error, OverflowError, TypeError, ValueError, IndexError, AttributeError) as problem:
            raise VolvoxError(Code.INVALID_ARGUMENT, f"the request cannot be encoded: {problem}") from problem

    def submit_bundle(self, model: str, parts: Iterable[Part], *, outputs: Iterable[str] = (), version: int = 0,
                      priority: str = "normal", deadline: float = 0.0, timeout: Optional[float] = None,
                      trace: Union[int, str] = 0) -> list[Pending]:  # fmt: skip
        """Sends many parts of sessions, each a Part, in one message, and returns a Pending for each. All is as if each had
        been submitted alone, but that with several routers none goes to another one by itself. The rows of an input are
        of one shape and type in all parts; the other options are of each part."""
        try:
            parts = list(parts)
            body, lengths = encode_bundle(parts, list(outputs))
            if timeout is None:
                timeout = deadline + DEADLINE_GRACE if deadline else self._timeout
            facts = (model, version, priority, sum(lengths), trace, None, None, len(parts))
            return self._send_bundle(parts, facts, body, timeout, deadline)
        except (struct.error, OverflowError, TypeError, ValueError, IndexError, AttributeError) as problem:
            raise VolvoxError(Code.INVALID_ARGUMENT, f"the bundle cannot be encoded: {problem}") from problem

    def ping(self, timeout: float = 5.0) -> float:
        """Seconds to the server and back, without touching a model."""
        start = time.monotonic()
        self._send("ping", (), b"", timeout).result()
        return time.monotonic() - start

    @property
    def in_flight(self) -> int:
        return len(self._pending)

    @property
    def connected(self) -> bool:
        return any(link.connected for link in self._links)

    def close(self) -> None:
        """Ends the client's thread; what is in flight fails with CANCELLED. May be called again, and by any thread."""
        with self._lock:
            if self._closed is None:
                self._closed = VolvoxError(Code.CANCELLED, "the client was closed before the answer came")
        self._wake()
        if threading.current_thread() is not self._thread:
            self._thread.join()
        atexit.unregister(self.close)

    def _send(self, kind, facts, body, timeout, deadline=0.0, on_partial=None):
        if len(body) > self._max_message:
            message = f"the request has {len(body)} bytes; the limit is {self._max_message}"
            raise VolvoxError(Code.INVALID_ARGUMENT, message)
        expires, deadline_at = self._ends(timeout, deadline)
        request_id = self._take_ids(1)
        header = encode_header(kind, request_id, *facts)
        session = facts[5] if facts else None  # one that begins without a nonce would begin twice
        repeatable = len(self._links) > 1 and (session is None or session.operation != "begin" or session.nonce != 0)
        facts = (deadline_at, header, body, on_partial, repeatable, session is not None)
        pending = Pending(self, request_id, expires, *facts)
        with self._lock:
            self._take_in([pending], len(body))
            self._outbox.append(pending)
        self._wake()
        return pending

    @staticmethod
    def _ends(timeout, deadline):
        """When the client gives up, and when the server does or None. What is no time would fail on the client's thread, and
        end it for all."""
        deadline = deadline or 0.0
        for name, seconds in (("deadline", deadline), ("timeout", timeout)):
            if not -LONGEST <= seconds <= LONGEST:
                raise VolvoxError(Code.INVALID_ARGUMENT, f"a {name} of {seconds} s is no time; the most is {LONGEST:.0f} s")
        now = time.monotonic()
        return now + timeout, now + deadline if deadline else None

    def _take_ids(self, count):
        """The first of so many that follow each other."""
        with self._lock:
            first, self._next_id = self._next_id, self._next_id + count
        return first

    def _take_in(self, pendings, size):
        if self._closed is not None:
            raise VolvoxError(Code.UNAVAILABLE, "the client is closed")
        if len(self._pending) + len(pendings) > self._max_in_flight or self._bytes + size > self._max_bytes:
            message = "too many requests are in flight; wait for some answers before sending more"
            raise VolvoxError(Code.OVERLOADED, message)
        self._bytes += size
        for pending in pendings:
            self._pending[pending.request_id] = pending
            heapq.heappush(self._expiries, (pending._expires, pending.request_id))

    def _send_bundle(self, parts, facts, body, timeout, deadline):
        if len(body) > self._max_message:
            message = f"the bundle has {len(body)} bytes; the limit is {self._max_message}"
            raise VolvoxError(Code.INVALID_ARGUMENT, message)
        expires, deadline_at = self._ends(timeout, deadline)
        first = self._take_ids(len(parts))
        header = encode_header("bundle", first, *facts)
        pendings = []
        for number, part in enumerate(parts):
            in_session = part.session is not None
            pending = Pending(self, first + number, expires, deadline_at, None, b"", None, False, in_session)
            pending._size = len(body) if number == 0 else 0
            pendings.append(pending)
        bundle = _Bundle(pendings, header, body, deadline_at)
        with self._lock:
            self._take_in(pendings, len(body))
            self._bundles[first] = bundle
            self._outbox.append(bundle)
        self._wake()
        return pendings

    def _wake(self):
        try:
            self._wake_writer.send(b"\0")
        except OSError:
            pass  # full: it is awake; closed: there is nobody to wake

    # --- What follows runs on the client's thread, which alone touches the sockets. ---

    def _run(self):
        try:
            while self._closed is None:
                blocked = self._flush()
                for link in self._links:
                    self._poller.register(link.socket, zmq.POLLIN | (zmq.POLLOUT if blocked and link.connected else 0))
                ready = dict(self._poller.poll(self._milliseconds_to_wait()))
                if self._wake_reader.fileno() in ready:
                    self._wake_reader.recv(4096)
                for link in self._links:
                    self._watch(link)
                    self._receive_all(link)
                now = time.monotonic()
                self._expire(now)
                for link in self._links:
                    link.ping_in_time(now)
                    self._leave_silent(link, now)
        except Exception as problem:
            logging.getLogger("volvox").exception("the client's thread failed")
            with self._lock:
                self._closed = self._closed or VolvoxError(Code.INTERNAL, f"the client failed: {problem!r}")
        self._end()

    def _end(self):
        while True:
            with self._lock:
                left = list(self._pending)
            if not left:
                break
            for request_id in left:
                self._finish(request_id, VolvoxError(self._closed.code, self._closed.message))
        self._close_sockets()

    def _flush(self):
        """Sends what waits; true if ZeroMQ takes no more for now."""
        while self._outbox:
            item = self._outbox[0]
            if isinstance(item, _Bundle):
                if not self._flush_bundle(item):
                    return True
            elif not isinstance(item, Pending):
                if (pending := self._pending.get(item)) is not None:
                    pending._tell_to_stop()
            elif not item.done():  # else it was given up on before it was sent
                if not self.connected:
                    self._finish(item.request_id, VolvoxError(Code.UNAVAILABLE, f"no connection to {self._endpoint}"))
                elif not self._send_somewhere(item, time.monotonic()):
                    return True
                elif len(self._links) == 1:
                    item._header = item._body = None
            self._outbox.popleft()
        return False

    def _flush_bundle(self, bundle):
        """False if ZeroMQ takes no more for now."""
        waiting, now = bundle.waiting(), time.monotonic()
        if not self.connected:
            for pending in waiting:
                self._finish(pending.request_id, VolvoxError(Code.UNAVAILABLE, f"no connection to {self._endpoint}"))
        if not waiting or not self.connected:
            return True
        if bundle.deadline is not None:
            struct.pack_into("<Q", bundle.header, DEADLINE_AT, max(1, int((bundle.deadline - now) * 1e6)))
        for link in sorted(self._links, key=lambda link: (not link.answers(now), link.busy)):
            if not link.send((bundle.header, bundle.body)):
                continue
            for pending in waiting:
                link.take_on(now)
                pending._attempts.append((link, link.connections))
            bundle.header = bundle.body = None
            return True
        return False

    def _send_somewhere(self, pending, now, only_answering=False):
        """To the server with the least of this client's under way, silent ones last; over no connection twice."""
        if pending._deadline is not None:
            struct.pack_into("<Q", pending._header, DEADLINE_AT, max(1, int((pending._deadline - now) * 1e6)))
        if pending._next_partial > 0:  # the last row is wanted once more: an answer cannot begin behind its end
            struct.pack_into("<I", pending._header, STREAM_FROM_AT, pending._next_partial - 1)
        if pending._version != 0:  # whose rows it has
            struct.pack_into("<I", pending._header, VERSION_AT, pending._version)
        self._turn = (self._turn + 1) % len(self._links)  # among equals by turns
        links = self._links[self._turn :] + self._links[: self._turn]
        for link in sorted(links, key=lambda link: (not link.answers(now), link.busy)):
            tried = (link, link.connections) in pending._attempts or (only_answering and not link.answers(now))
            if not tried and link.send((pending._header, pending._body)):
                link.take_on(now)
                pending._attempts.append((link, link.connections))
                return True
        return False

    def _send_again(self, pending, only_answering, doubtful=True):
        if not pending._repeatable or len(pending._attempts) >= MAX_ATTEMPTS:
            return False
        before = pending._attempts[-1][0]
        if not self._send_somewhere(pending, time.monotonic(), only_answering):
            return False
        before.busy, self.resent, pending._doubtful = before.busy - 1, self.resent + 1, pending._doubtful or doubtful
        return True

    def _milliseconds_to_wait(self):
        with self._lock:
            while self._expiries and self._expiries[0][1] not in self._pending:
                heapq.heappop(self._expiries)
            if len(self._expiries) > 2 * len(self._pending) + 1024:
                self._expiries = [entry for entry in self._expiries if entry[1] in self._pending]
                heapq.heapify(self._expiries)
            if self._closed is not None:
                return 0
            if not self._expiries:
                return None
            next_event = min([self._expiries[0][0], *(link.next_ping() for link in self._links)])
            return max(0, next_event - time.monotonic()) * 1e3 + 1

    def _watch(self, link):
        broke = link.watch()
        if self.connected or all(link.refused for link in self._links):
            self._settled.set()
        if broke:
            self._receive_all(link)  # what came before are answers, too
            link.leave_queue()
            for pending in self._waiting_at(link):
                if not self._send_again(pending, False):
                    self._finish(pending.request_id, VolvoxError(Code.UNAVAILABLE, LOST))

    def _waiting_at(self, link):
        with self._lock:
            return [pending for pending in self._pending.values() if pending._attempts and pending._attempts[-1][0] is link]

    def _leave_silent(self, link, now):
        if link.busy == 0 or not link.connected or link.answers(now) or not any(other.answers(now) for other in self._links):
            return
        for pending in self._waiting_at(link):
            if self._send_again(pending, True) and not pending._in_session:
                link.send((encode_header("cancel", pending.request_id), b""))

    def _receive_all(self, link):
        while (frames := link.receive()) is not None:
            try:
                if len(frames) != 2:
                    raise Malformed(f"it has {len(frames)} frames")
                request_id, root = read_reply_header(frames[0])
            except Malformed:
                self.unknown_replies += 1
                continue
            if (bundle := self._bundles.get(request_id)) is not None:
                self._accept_bundle(link, bundle, root, frames[1])
                continue
            pending = self._pending.get(request_id)
            if pending is None or pending._attempts[-1:] != [(link, link.connections)]:
                self.unknown_replies += request_id != 0 or not is_pong(root)  # that is the answer to a sign of life
            else:
                self._accept(pending, root, frames[1])

    def _accept(self, pending, root, body):
        try:
            header = decode_reply_header(root)
            reply = Reply(decode_body(body) if body else {}, **header.fields)
        except (Malformed, VolvoxError) as problem:
            if isinstance(problem, Malformed):
                problem = VolvoxError(Code.INTERNAL, f"the server's reply cannot be read: {problem}")
            self._finish(pending.request_id, problem)
            return
        if header.final:
            unable = header.error is not None and header.error.code == Code.UNAVAILABLE
            if not unable or not self._send_again(pending, True, header.error.undecided):
                self._finish(pending.request_id, header.error or reply)
        elif reply.index >= pending._next_partial:
            pending._next_partial, pending._version = reply.index + 1, reply.version
            self._deliver_partial(pending, reply)

    def _accept_bundle(self, link, bundle, root, body):
        """Answers to some parts; or an error, which is that of all that have no answer."""
        mine = {pending.request_id: pending for pending in bundle.waiting()
                if pending._attempts[-1:] == [(link, link.connections)]}  # fmt: skip
        first = bundle.parts[0].request_id
        try:
            header = decode_reply_header(root)
            if header.kind not in ("bundle", "error"):
                raise Malformed(f"it is of kind {header.kind}")
            answers = decode_bundle(body, header.fields["server"]) if header.kind == "bundle" else []
            if header.kind == "error":
                error = header.error
                answers = [(request_id - first, VolvoxError(error.code, error.message, error.retry_after, False, error.undecided))
                           for request_id in mine]  # fmt: skip
        except (Malformed, VolvoxError) as problem:
            if isinstance(problem, Malformed):
                problem = VolvoxError(Code.INTERNAL, f"the server's reply cannot be read: {problem}")
            answers = [(request_id - first, VolvoxError(problem.code, problem.message)) for request_id in mine]
        for part, outcome in answers:
            if mine.pop(first + part, None) is None:
                self.unknown_replies += 1
            else:
                self._finish(first + part, outcome)

    @staticmethod
    def _deliver_partial(pending, reply):
        try:
            if pending._on_partial is not None:
                pending._on_partial(reply)
        except BaseException:  # even one that is to end its thread: this is the client's, and others wait
            logging.getLogger("volvox").exception("on_partial failed")

    def _expire(self, now):
        while True:
            with self._lock:
                if not self._expiries or self._expiries[0][0] > now:
                    return
                request_id = heapq.heappop(self._expiries)[1]
                pending = self._pending.get(request_id)
            if pending is not None:
                pending._tell_to_stop()
                message = "no answer came within the client's own time limit"
                self._finish(request_id, VolvoxError(Code.DEADLINE_EXCEEDED, message))

    def _finish(self, request_id, outcome):
        with self._lock:
            pending = self._pending.pop(request_id, None)
            if pending is None:
                return
            self._bytes -= pending._size
            if pending._bundle is not None:
                pending._bundle.left -= 1
                if pending._bundle.left == 0:
                    del self._bundles[pending._bundle.parts[0].request_id]
            if pending._attempts:
                pending._attempts[-1][0].busy -= 1
        try:  # which runs callbacks
            if isinstance(outcome, VolvoxError):
                outcome.judge(pending._in_session, bool(pending._attempts), pending._doubtful)
                pending.set_exception(outcome)
            else:
                pending.set_result(outcome)
        except BaseException:
            logging.getLogger("volvox").exception("a callback failed")

    def _close_sockets(self):
        for end in (*self._links, self._wake_reader, self._wake_writer):
            end.close()
        self._context.term()
