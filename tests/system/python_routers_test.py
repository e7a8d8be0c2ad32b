"""The Python client with several servers: ROUTER sockets that answer what a test wants, or nothing.

Usage: python_routers_test.py [unittest's options]
"""

import threading
import time
import unittest

import numpy
import python_client_test as base
import volvox_wire as wire
import zmq
from volvox_client import Client, Code, SessionToken, VolvoxError

PATIENCE = base.PATIENCE


class Router:
    """Keeps what it is asked in `asked` (request id -> client's name, header), answers pings as long as it is `lively`, and
    answers requests when told to. A thread of its own, which alone touches the socket."""

    def __init__(self, context, port="*"):
        self.asked, self.cancelled, self.lively, self.order = {}, [], True, []
        self._socket = context.socket(zmq.ROUTER)
        self._socket.linger = 0
        self._socket.bind(f"tcp://127.0.0.1:{port}")
        self.endpoint, self._stopped, self._to_send = self._socket.last_endpoint.decode().rstrip("\0"), False, []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        while not self._stopped:
            while self._to_send:
                self._socket.send_multipart(self._to_send.pop(0))
            if not self.lively or not self._socket.poll(5):
                time.sleep(0.002)
                continue
            name, header, _ = self._socket.recv_multipart()
            kind, number = wire.struct.unpack_from("<HHHxxQ", header, 16)[1::2]
            if wire.REQUEST_KINDS[kind] == "ping":
                self._to_send.append([name, *reply("pong", number)])
            elif wire.REQUEST_KINDS[kind] == "cancel":
                self.cancelled.append(number)
            else:
                self.order.append(number)
                self.asked[number] = (name, header)
        self._socket.close()

    def answer(self, number, kind="result", **options):
        self._to_send.append([self.asked[number][0], *reply(kind, number, **options)])

    def stop(self):
        self._stopped = True
        self._thread.join()


def reply(kind, number, **options):
    return base.AgainstNonsense.reply(None, kind, number, **options)


class OneServer(unittest.TestCase):
    def test_what_waited_for_a_connection_goes_with_it(self):
        old, new = zmq.Context(), zmq.Context()
        self.addCleanup(new.term)
        deaf = old.socket(zmq.ROUTER)  # it accepts the connection, and reads next to nothing
        deaf.linger, deaf.rcvhwm = 0, 1
        port = deaf.bind_to_random_port("tcp://127.0.0.1")
        client = Client(f"tcp://127.0.0.1:{port}", timeout=PATIENCE, connect_timeout=PATIENCE)
        self.addCleanup(client.close)
        lost = [client.submit("m", {"x": numpy.zeros(1 << 18, numpy.float32)}) for _ in range(40)]
        end = time.monotonic() + PATIENCE
        while any(not pending._attempts for pending in lost) and time.monotonic() < end:
            time.sleep(0.005)
        deaf.close()
        old.term()
        for pending in lost:
            with self.assertRaises(VolvoxError) as told:
                pending.result()
            self.assertEqual(told.exception.code, Code.UNAVAILABLE)
        router = Router(new, port)
        self.addCleanup(router.stop)
        while not client.connected and time.monotonic() < end:
            time.sleep(0.005)
        asked = client.submit("m", {"x": [1]})
        while asked.request_id not in router.asked and time.monotonic() < end:
            time.sleep(0.005)
        self.assertEqual(router.order, [asked.request_id], "what was told to be lost came all the same")
        router.answer(asked.request_id)
        asked.result()


class SeveralServers(unittest.TestCase):
    may_resend = 0  # requests that may have gone to another router in silence: a test says so when any may

    def setUp(self):
        context = zmq.Context()
        self.addCleanup(context.term)
        self.routers = [Router(context), Router(context)]
        for router in self.routers:
            self.addCleanup(router.stop)
        endpoint = ",".join(router.endpoint for router in self.routers)
        self.client = Client(endpoint, timeout=PATIENCE, connect_timeout=PATIENCE)
        self.addCleanup(self.client.close)
        self.addCleanup(self.expect_few_resent)
        self.until(lambda: all(link.connected for link in self.client._links))

    def expect_few_resent(self):
        self.assertLessEqual(self.client.resent, self.may_resend, "requests were sent again, unseen by their caller")

    def until(self, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.005)

    def ask(self, count=1, **options):
        answers = [self.client.submit("check", {"tokens": [1]}, **options) for _ in range(count)]
        self.until(lambda: sum(len(router.asked) for router in self.routers) == count)
        return answers

    def ids_at(self, router):
        return set(self.routers[router].asked)

    def test_requests_are_spread(self):
        self.ask(10)
        self.assertEqual([len(router.asked) for router in self.routers], [5, 5])

    def test_what_a_dead_one_had_goes_to_the_other_with_the_same_id(self):
        self.may_resend = 5
        answers = self.ask(10)
        moved = self.ids_at(0)
        self.routers[0].stop()
        self.until(lambda: len(self.routers[1].asked) == 10)
        self.assertLessEqual(moved, self.ids_at(1))
        for number in self.ids_at(1):
            self.routers[1].answer(number)
        for answer in answers:
            answer.result(PATIENCE)
        self.assertEqual((self.client.resent, self.client.unknown_replies, self.client.in_flight), (5, 0, 0))

    def test_a_silent_one_is_left_and_its_late_answers_dropped(self):
        self.may_resend = 2
        answers = self.ask(4)
        moved = self.ids_at(0)
        self.routers[0].lively = False
        self.until(lambda: len(self.routers[1].asked) == 4)
        for number in self.ids_at(1):
            self.routers[1].answer(number, code=0)
        for answer in answers:
            answer.result(PATIENCE)
        self.routers[0].lively = True
        self.until(lambda: set(self.routers[0].cancelled) == moved)
        for number in moved:
            self.routers[0].answer(number)
        self.until(lambda: self.client.unknown_replies == len(moved))

    def test_a_slow_one_is_not_left(self):
        (answer,) = self.ask()
        time.sleep(1.6)
        self.assertEqual(self.client.resent, 0)
        self.assertFalse(answer.done())

    def test_who_cannot_serve_is_left_and_if_nobody_can_the_caller_is_told(self):
        self.may_resend = 1
        (answer,) = self.ask()
        first = 0 if self.routers[0].asked else 1
        number = answer.request_id
        self.routers[first].answer(number, "error", code=int(Code.UNAVAILABLE))
        self.until(lambda: number in self.routers[1 - first].asked)
        self.routers[1 - first].answer(number, "error", code=int(Code.UNAVAILABLE))
        self.assertEqual(answer.exception(PATIENCE).code, Code.UNAVAILABLE)

    def test_a_stream_goes_on_where_it_stopped(self):
        self.may_resend = 1
        rows = []
        (answer,) = self.ask(on_partial=lambda part: rows.append(part.index), stream_from=3)
        first = 0 if self.routers[0].asked else 1
        number = answer.request_id
        for row in (3, 4):
            self.routers[first].answer(number, "partial", final=False, index=row, model_version=7)
        self.until(lambda: rows == [3, 4])
        self.routers[first].stop()
        self.until(lambda: number in self.routers[1 - first].asked)
        header = self.routers[1 - first].asked[number][1]
        self.assertEqual(wire.struct.unpack_from("<I", header, wire.STREAM_FROM_AT)[0], 4)
        self.assertEqual(wire.struct.unpack_from("<I", header, wire.VERSION_AT)[0], 7, "the other rows' version")
        for row in (4, 5):
            self.routers[1 - first].answer(number, "partial", final=False, index=row)
        self.routers[1 - first].answer(number)
        answer.result(PATIENCE)
        self.assertEqual(rows, [3, 4, 5])

    def test_what_is_cancelled_or_would_begin_twice_is_not_sent_again(self):
        (answer,) = self.ask(session=SessionToken(operation="begin"))
        self.routers[0 if self.routers[0].asked else 1].stop()
        self.assertEqual(answer.exception(PATIENCE).code, Code.UNAVAILABLE)
        self.assertEqual(self.client.resent, 0)


if __name__ == "__main__":
    unittest.main()
