"""One connection of a client to one server. For volvox_client, whose thread alone uses it."""

import zmq
import zmq.auth
from zmq.utils.monitor import recv_monitor_message

from volvox_wire import Code, VolvoxError, encode_header

SIGN_OF_LIFE = 0.2  # with requests in flight, ping that often: a silent client's requests are cancelled, a silent server left
SILENT_AFTER = 1.0  # a server that answers no ping for so long is silent
DEAD_AFTER = 15  # a host that acknowledges nothing for so long is lost
DIAL_TIME = 2  # a host that swallows what is sent to it is dialled anew after so long
CONNECTED = zmq.EVENT_HANDSHAKE_SUCCEEDED
REFUSED = (zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
           | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL)  # fmt: skip


class Link:
    """`busy`: the client's requests that wait for this server. `refused`: it does not take the keys. `turned_away`: it closes the
    connection without a word, as one does that has no room for more; with keys, that may also mean that its key is another."""

    def __init__(self, context, endpoint, max_message, server_key, client_key):
        self.endpoint, self.busy, self.connected, self.connections = endpoint, 0, False, 0
        self.refused, self.turned_away, self._keys = False, False, server_key is not None
        self._sent_to_it = False  # to the connection: something may wait for it
        self._last_ping, self._unanswered = 0.0, None  # the first ping since something came
        self.socket = context.socket(zmq.DEALER)
        options = {zmq.LINGER: 0, zmq.RCVHWM: 0, zmq.MAXMSGSIZE: max(max_message, 4096),
                   zmq.TCP_KEEPALIVE: 1, zmq.TCP_KEEPALIVE_IDLE: DEAD_AFTER // 3, zmq.TCP_KEEPALIVE_CNT: 2,
                   zmq.TCP_KEEPALIVE_INTVL: DEAD_AFTER // 3, zmq.TCP_MAXRT: 1000 * DEAD_AFTER,
                   zmq.CONNECT_TIMEOUT: 1000 * DIAL_TIME}  # fmt: skip
        for option, value in options.items():
            self.socket.setsockopt(option, value)
        self.monitor = self.socket.get_monitor_socket(CONNECTED | zmq.EVENT_DISCONNECTED | REFUSED)
        if "://" not in endpoint:
            self.close()
            raise VolvoxError(Code.INVALID_ARGUMENT, f"{endpoint!r} is no endpoint; write tcp://HOST:PORT or ipc://PATH")
        try:
            self._encrypt(server_key, client_key)
            self.socket.connect(endpoint)
        except (OSError, ValueError) as problem:
            self.close()
            raise VolvoxError(Code.INVALID_ARGUMENT, f"the keys cannot be used: {problem}") from None
        except zmq.ZMQError as problem:
            self.close()
            raise VolvoxError(Code.INVALID_ARGUMENT, f"cannot connect to {endpoint!r}: {problem}") from None

    def _encrypt(self, server_key, client_key):
        if server_key is None and client_key is None:
            return
        if server_key is None or client_key is None:
            raise ValueError("server_key and client_key belong together; give both")
        self.socket.curve_serverkey = zmq.auth.load_certificate(server_key)[0]
        self.socket.curve_publickey, secret = zmq.auth.load_certificate(client_key)
        if secret is None:
            raise ValueError(f"{client_key} holds no secret key")
        self.socket.curve_secretkey = secret

    def watch(self):
        """Takes in what has happened to the connection; true if it broke."""
        broke = False
        while self.monitor.poll(0):
            event = recv_monitor_message(self.monitor)["event"]
            self.connected = event == CONNECTED
            if self.connected:
                self.connections += 1
                self.turned_away = False
            elif event & REFUSED:
                self.turned_away = event == zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
                self.refused = self._keys or not self.turned_away
            else:
                broke, self._unanswered = True, None
        return broke

    def leave_queue(self):
        """After the connection broke, and all that came before was received: what ZeroMQ keeps for the next one would run there,
        although it is taken for lost here. (ZeroMQ's own IMMEDIATE would throw away what has come, too.) Without any, ZeroMQ's own way
        does, which waits before it tries a server again that closes connections at once."""
        if not self.connected and self._sent_to_it:
            self._sent_to_it = False
            self.socket.disconnect(self.endpoint)
            self.socket.connect(self.endpoint)

    def send(self, frames):
        """False if ZeroMQ takes no more for now, or there is no connection."""
        if not self.connected:
            return False
        try:
            self.socket.send_multipart(frames, zmq.NOBLOCK)
            self._sent_to_it = True
            return True
        except zmq.Again:
            return False

    def receive(self):
        """A message's frames; None when there is no more."""
        try:
            frames = self.socket.recv_multipart(zmq.NOBLOCK)
        except zmq.Again:
            return None
        self._unanswered = None
        return frames

    def take_on(self, now):
        """A request was sent: it shows life itself, and most are answered before the first ping."""
        self._last_ping = self._last_ping if self.busy else now
        self.busy += 1

    def next_ping(self):
        return self._last_ping + SIGN_OF_LIFE if self.busy else float("inf")

    def ping_in_time(self, now):
        if now >= self.next_ping():
            self._last_ping = now  # also when it cannot be sent
            if self.send((encode_header("ping", 0), b"")) and self._unanswered is None:
                self._unanswered = now

    def answers(self, now):
        return self.connected and (self._unanswered is None or now - self._unanswered < SILENT_AFTER)

    def close(self):
        self.socket.disable_monitor()
        self.monitor.close()
        self.socket.close()
