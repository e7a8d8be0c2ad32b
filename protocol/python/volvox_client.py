"""A client for Volvox: Python 3.9 or newer, and pyzmq (Debian: python3-zmq). numpy is used if it is there.

    from volvox_client import Client
    with Client("tcp://127.0.0.1:7100") as client:
        reply = client.infer("lstm", {"tokens": [17, 4, 256]})
        print(reply["h"])

Many requests in flight: `submit` returns a future (concurrent.futures), whose result is a Reply. What fails raises
VolvoxError. Nothing is ever sent twice: when a connection breaks, what was in flight fails with UNAVAILABLE, and whether
to ask again is the caller's decision. docs/protocol.md says what travels; times are in seconds here.

The folder of this file must be on Python's path: PYTHONPATH=protocol/python.
"""

import atexit
import collections
import concurrent.futures
import heapq
import itertools
import logging
import socket
import struct
import threading
import time

import zmq
import zmq.auth
from zmq.utils.monitor import recv_monitor_message

from volvox_capnp import Malformed
from volvox_wire import (DEADLINE_AT, Chain, Code, Graph, Lattice, Reply, SessionToken, Tensor, Tree, VolvoxError,
                         cells_of, decode_body, decode_reply_header, encode_body, encode_header, is_pong, read_reply_header,
                         tensor)  # fmt: skip

__all__ = ["Chain", "Client", "Code", "Graph", "Lattice", "Pending", "Reply", "SessionToken", "Tensor", "Tree",
           "VolvoxError", "tensor"]  # fmt: skip

DEADLINE_GRACE = 5.0  # beyond the deadline that the server keeps, before the client gives up by itself
SIGN_OF_LIFE = 0.2  # with requests in flight, say something at least that often: a silent client's are cancelled
DEAD_AFTER = 15  # a host that acknowledges nothing for so long is lost
CONNECTED = zmq.EVENT_HANDSHAKE_SUCCEEDED
REFUSED = (zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
           | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL)  # fmt: skip
LOST = "the connection broke before the answer came; the request may or may not have run"


class Pending(concurrent.futures.Future):
    """The answer to come: `result(timeout)` is a Reply or raises VolvoxError. All that concurrent.futures and
    asyncio.wrap_future do with futures works; callbacks run on the client's thread and must not block it."""

    def __init__(self, client, request_id, expires, deadline, header, body, on_partial):
        super().__init__()
        self.request_id = request_id
        self._client, self._expires, self._deadline, self._on_partial = client, expires, deadline, on_partial
        self._header, self._body, self._size, self._next_partial = header, body, len(body), 0

    def cancel(self):
        """Asks the server to stop. The request is still answered: CANCELLED, or its result if that was under way.
        False if it has been answered already."""
        if self.done():
            return False
        self._client._post(encode_header("cancel", self.request_id))
        return True


class Client:
    """One connection to one server, any number of threads, many requests in flight. A thread of its own moves the
    bytes. Use it in a `with`, or close() it.

    timeout             for a request that says none: without an answer by then it fails, DEADLINE_EXCEEDED
    connect_timeout     how long the constructor waits for the server before it raises UNAVAILABLE
    max_in_flight       requests, and max_bytes_in_flight bytes of their bodies: beyond it submit raises OVERLOADED
    max_message_bytes   the largest request and reply; the server's wire.max_body_bytes
    server_key          file with the public key of a server that encrypts, and client_key: file with this client's secret
                        key. Without the right ones the constructor raises UNAUTHENTICATED
    """

    def __init__(self, endpoint, *, timeout=30.0, connect_timeout=5.0, max_in_flight=65536,
                 max_bytes_in_flight=256 << 20, max_message_bytes=16 << 20, server_key=None,
                 client_key=None):  # fmt: skip
        self._endpoint, self._timeout = endpoint, timeout
        self._max_in_flight, self._max_bytes, self._max_message = max_in_flight, max_bytes_in_flight, max_message_bytes
        self._ids = itertools.count(1)
        self._lock = threading.Lock()  # of what follows, up to the blank line
        self._pending, self._bytes = {}, 0
        self._expiries = []  # heap of (time, request id), some of them answered long ago
        self._outbox = collections.deque()  # Pending, or the header of a cancellation
        self._closed = None  # why nothing can be sent any more

        self._connected = threading.Event()
        self._last_sent = time.monotonic()
        self.unknown_replies = 0  # to nothing that was asked or still waits, or unreadable; for logs and tests
        self._wake_reader, self._wake_writer = socket.socketpair()
        self._wake_reader.setblocking(False)
        self._wake_writer.setblocking(False)
        self._settled, self._refused = threading.Event(), False  # the first connection stands, or was refused
        self._open(endpoint, server_key, client_key)
        self._thread = threading.Thread(target=self._run, name="volvox-client", daemon=True)
        self._thread.start()
        atexit.register(self.close)
        if not self._settled.wait(connect_timeout) or self._refused:
            self.close()
            if self._refused:
                raise VolvoxError(Code.UNAUTHENTICATED, f"the server at {endpoint} refuses the keys, or that there are none")
            advice = "check the address and that it is running"
            raise VolvoxError(Code.UNAVAILABLE, f"no server answers at {endpoint} within {connect_timeout} s; {advice}")

    def _open(self, endpoint, server_key, client_key):
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.DEALER)
        # IMMEDIATE: a request never waits inside ZeroMQ for a connection that may come much later.
        options = {zmq.LINGER: 0, zmq.IMMEDIATE: 1, zmq.RCVHWM: 0, zmq.MAXMSGSIZE: max(self._max_message, 4096),
                   zmq.TCP_KEEPALIVE: 1, zmq.TCP_KEEPALIVE_IDLE: DEAD_AFTER // 3, zmq.TCP_KEEPALIVE_CNT: 2,
                   zmq.TCP_KEEPALIVE_INTVL: DEAD_AFTER // 3, zmq.TCP_MAXRT: 1000 * DEAD_AFTER}  # fmt: skip
        for option, value in options.items():
            self._socket.setsockopt(option, value)
        self._monitor = self._socket.get_monitor_socket(CONNECTED | zmq.EVENT_DISCONNECTED | REFUSED)
        try:
            self._encrypt(server_key, client_key)
            self._socket.connect(endpoint)
        except (OSError, ValueError) as problem:
            self._close_sockets()
            raise VolvoxError(Code.INVALID_ARGUMENT, f"the keys cannot be used: {problem}") from None
        except zmq.ZMQError as problem:
            self._close_sockets()
            raise VolvoxError(Code.INVALID_ARGUMENT, f"cannot connect to {endpoint!r}: {problem}") from None
        self._poller = zmq.Poller()
        for source in (self._socket, self._monitor, self._wake_reader):
            self._poller.register(source, zmq.POLLIN)

    def _encrypt(self, server_key, client_key):
        if server_key is None and client_key is None:
            return
        if server_key is None or client_key is None:
            raise ValueError("server_key and client_key belong together; give both")
        self._socket.curve_serverkey = zmq.auth.load_certificate(server_key)[0]
        self._socket.curve_publickey, secret = zmq.auth.load_certificate(client_key)
        if secret is None:
            raise ValueError(f"{client_key} holds no secret key")
        self._socket.curve_secretkey = secret

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def infer(self, model, inputs, **options):
        """Runs a model and waits for its Reply. Inputs are arrays or lists by name (see `tensor`); options as submit's."""
        pending = self.submit(model, inputs, **options)
        try:
            return pending.result()
        except KeyboardInterrupt:
            pending.cancel()
            raise

    def submit(self, model, inputs, *, structure=None, outputs=(), version=0, priority="normal", deadline=0.0,
               timeout=None, session=None, trace=0, on_partial=None, stream_from=0):  # fmt: skip
        """Sends a request and returns its Pending. What can be seen to be wrong is raised here.

        structure   Chain, Tree, Lattice or Graph; by default a chain over the first input's rows
        outputs     names of those wanted; none: all that the model declares
        version     of the model; 0: the newest
        priority    "high", "normal" or "low"
        deadline    seconds that the server has; 0: no deadline
        timeout     seconds after which the client gives up by itself; by default somewhat longer than the deadline, or
                    the client's timeout
        session     a SessionToken; one that ends its session may come without inputs
        trace       a number of up to 128 bits for your own tracing
        on_partial  called on the client's thread with each partial Reply: partial t holds row t of the outputs that have
                    one for every step; the answer then lacks them
        stream_from the first partial that is wanted
        """
        try:
            tensors = {name: tensor(values) for name, values in inputs.items()}
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

    def ping(self, timeout=5.0):
        """Seconds to the server and back, without touching a model."""
        start = time.monotonic()
        self._send("ping", (), b"", timeout).result()
        return time.monotonic() - start

    @property
    def in_flight(self):
        return len(self._pending)

    @property
    def connected(self):
        return self._connected.is_set()

    def close(self):
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
        request_id, now = next(self._ids), time.monotonic()
        header = encode_header(kind, request_id, *facts)
        deadline_at = now + deadline if deadline else None
        pending = Pending(self, request_id, now + timeout, deadline_at, header, body, on_partial)
        with self._lock:
            if self._closed is not None:
                raise VolvoxError(Code.UNAVAILABLE, "the client is closed")
            if len(self._pending) >= self._max_in_flight or self._bytes + len(body) > self._max_bytes:
                message = "too many requests are in flight; wait for some answers before sending more"
                raise VolvoxError(Code.OVERLOADED, message)
            self._pending[request_id] = pending
            self._bytes += len(body)
            heapq.heappush(self._expiries, (pending._expires, request_id))
            self._outbox.append(pending)
        self._wake()
        return pending

    def _post(self, header):
        self._outbox.append(header)
        self._wake()

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
                self._poller.modify(self._socket, zmq.POLLIN | (zmq.POLLOUT if blocked else 0))
                ready = dict(self._poller.poll(self._milliseconds_to_wait()))
                if self._wake_reader.fileno() in ready:
                    self._wake_reader.recv(4096)
                self._watch_connection()
                self._receive_all()
                self._expire()
                self._show_life()
        except Exception as problem:
            logging.getLogger("volvox").exception("the client's thread failed")
            self._closed = VolvoxError(Code.INTERNAL, f"the client failed: {problem!r}")
        finally:
            self._fail_all(self._closed)
            self._close_sockets()

    def _flush(self):
        """Sends what waits; true if ZeroMQ takes no more for now."""
        while self._outbox:
            item = self._outbox[0]
            frames = (item, b"")
            if isinstance(item, Pending):
                if item.done():  # given up on before it was sent
                    self._outbox.popleft()
                    continue
                if item._deadline is not None:
                    left_us = max(1, int((item._deadline - time.monotonic()) * 1e6))
                    struct.pack_into("<Q", item._header, DEADLINE_AT, left_us)
                frames = (item._header, item._body)
            if self._connected.is_set():
                try:
                    self._socket.send_multipart(frames, zmq.NOBLOCK)
                    self._last_sent = time.monotonic()
                except zmq.Again:
                    return True
            elif isinstance(item, Pending):
                self._finish(item.request_id, VolvoxError(Code.UNAVAILABLE, f"no connection to {self._endpoint}"))
            if isinstance(item, Pending):
                item._header = item._body = None
            self._outbox.popleft()
        return False

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
            next_event = min(self._expiries[0][0], self._last_sent + SIGN_OF_LIFE)
            return max(0, next_event - time.monotonic()) * 1e3 + 1

    def _show_life(self):
        if self._pending and time.monotonic() >= self._last_sent + SIGN_OF_LIFE:
            self._last_sent = time.monotonic()  # also when it cannot be sent
            self._outbox.append(encode_header("ping", 0))

    def _watch_connection(self):
        while self._monitor.poll(0):
            event = recv_monitor_message(self._monitor)["event"]
            if event == CONNECTED:
                self._connected.set()
                self._settled.set()
            elif event & REFUSED:
                self._refused = True
                self._settled.set()
            elif event == zmq.EVENT_DISCONNECTED:
                self._connected.clear()
                self._receive_all()  # what came before the connection broke are answers, too
                self._fail_all(VolvoxError(Code.UNAVAILABLE, LOST))

    def _receive_all(self):
        while True:
            try:
                frames = self._socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            try:
                if len(frames) != 2:
                    raise Malformed(f"it has {len(frames)} frames")
                request_id, root = read_reply_header(frames[0])
            except Malformed:
                self.unknown_replies += 1
                continue
            self._accept(request_id, root, frames[1])

    def _accept(self, request_id, root, body):
        pending = self._pending.get(request_id)
        if pending is None:
            self.unknown_replies += request_id != 0 or not is_pong(root)  # that is the answer to a sign of life
            return
        try:
            header = decode_reply_header(root)
            reply = Reply(decode_body(body) if body else {}, **header.fields)
        except (Malformed, VolvoxError) as problem:
            if isinstance(problem, Malformed):
                problem = VolvoxError(Code.INTERNAL, f"the server's reply cannot be read: {problem}")
            self._finish(request_id, problem)
            return
        if header.final:
            self._finish(request_id, header.error or reply)
        elif reply.index >= pending._next_partial:
            pending._next_partial = reply.index + 1
            self._deliver_partial(pending, reply)

    @staticmethod
    def _deliver_partial(pending, reply):
        try:
            if pending._on_partial is not None:
                pending._on_partial(reply)
        except Exception:
            logging.getLogger("volvox").exception("on_partial failed")

    def _expire(self):
        now = time.monotonic()
        while True:
            with self._lock:
                if not self._expiries or self._expiries[0][0] > now:
                    return
                request_id = heapq.heappop(self._expiries)[1]
                pending = self._pending.get(request_id)
            if pending is not None:
                if pending._header is None:  # it was sent: the server need not go on
                    self._outbox.append(encode_header("cancel", request_id))
                message = "no answer came within the client's own time limit"
                self._finish(request_id, VolvoxError(Code.DEADLINE_EXCEEDED, message))

    def _finish(self, request_id, outcome):
        with self._lock:
            pending = self._pending.pop(request_id, None)
            if pending is None:
                return
            self._bytes -= pending._size
        if isinstance(outcome, VolvoxError):
            pending.set_exception(outcome)
        else:
            pending.set_result(outcome)

    def _fail_all(self, error):
        for request_id in list(self._pending):
            self._finish(request_id, VolvoxError(error.code, error.message))

    def _close_sockets(self):
        self._socket.disable_monitor()
        for end in (self._monitor, self._socket, self._wake_reader, self._wake_writer):
            end.close()
        self._context.term()
