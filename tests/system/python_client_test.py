"""The Python client against a real server, and against one that answers nonsense.

Usage: python_client_test.py VOLVOX [unittest's options]      VOLVOX: the executable
"""

import asyncio
import concurrent.futures
import contextlib
import io
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "protocol" / "python"), str(ROOT / "tests")]

import volvox_wire as wire  # noqa: E402
import zmq  # noqa: E402
from check_model import check_hash  # noqa: E402
from served import PATIENCE, Server  # noqa: E402
from volvox_client import Client, Code, Part, SessionToken, Tensor, Tree, VolvoxError  # noqa: E402

VOLVOX = None
MODELS = (("lstm", "lstm", "--hidden", "24", "--vocabulary", "100"), ("check", "check"),
          ("check", "every", "--every-step"))  # fmt: skip


class AgainstAServer(unittest.TestCase):
    config = ""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        self.server = self.serve()
        self.addCleanup(lambda: self.server.kill())
        self.client = self.connect()

    def serve(self, **options):
        return Server(VOLVOX, self.folder, MODELS, self.config, **options)

    def connect(self, **options):
        client = Client(self.server.endpoint, timeout=PATIENCE, connect_timeout=PATIENCE, **options)
        self.addCleanup(client.close)
        return client

    def fails(self, code, function, *arguments, **options):
        with self.assertRaises(VolvoxError) as caught:
            function(*arguments, **options)
        self.assertEqual(caught.exception.code, code, caught.exception)
        return caught.exception


class Answers(AgainstAServer):
    def test_inputs_have_names(self):
        error = self.fails(Code.INVALID_ARGUMENT, self.client.infer, "check", [1, 2])
        self.assertIn("inputs are given by name: {'tokens': [12, 7, 301]}", str(error))

    def test_the_same_as_the_cpp_client(self):
        tokens = [12, 7, 99]
        reply = self.client.infer("lstm", {"tokens": tokens})
        command = [VOLVOX, "infer", "--connect", self.server.endpoint, "--compact"]
        request = json.dumps({"model": "lstm", "tokens": tokens}).encode()
        answer = json.loads(subprocess.run(command, input=request, capture_output=True, check=True).stdout)
        expected = answer["outputs"]["h"]
        self.assertEqual(list(reply.tensors["h"].shape), expected["shape"])
        self.assertEqual(reply.tensors["h"].type, expected["type"])
        mine = reply["h"].tolist()
        self.assertEqual(wire.tensor(mine).data, wire.tensor(expected["data"]).data)
        self.assertEqual((reply.cells > 0, reply.server, reply.session), (True, "volvox", None))
        self.assertGreaterEqual(reply.total, reply.compute)

    def test_a_streamed_answer_comes_row_by_row(self):
        tokens, rows = list(range(40)), []
        answer = self.client.infer("every", {"tokens": tokens}, stream_from=3,
                                   on_partial=lambda part: rows.append((part.index, part["state"].tolist())))  # fmt: skip
        self.assertEqual(rows, [(t, [check_hash(tokens[: t + 1])]) for t in range(3, 40)])
        self.assertEqual(answer.tensors, {})

    def test_the_same_streamed_by_the_command_line(self):
        command = [VOLVOX, "infer", "--connect", self.server.endpoint, "--compact", "--stream", "--stream-from", "1"]
        request = json.dumps({"model": "every", "tokens": [5, 6, 7]}).encode()
        lines = subprocess.run(command, input=request, capture_output=True, check=True).stdout.splitlines()
        self.assertEqual([json.loads(line).get("row") for line in lines], [1, 2, None])

    def test_the_lines_of_the_readme(self):
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        lines = text.split("```python\n")[1].split("```")[0].replace("tcp://127.0.0.1:7100", self.server.endpoint)
        lines = lines.replace("[17, 4, 256]", "[17, 4, 25]")  # the vocabulary here is smaller
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(lines, "README.md", "exec"), {})
        self.assertTrue(out.getvalue().strip())

    def test_many_in_flight_from_many_threads_each_its_own_answer(self):
        chance = random.Random(3)
        lists = [[chance.randrange(2**31) for _ in range(chance.randint(1, 60))] for _ in range(600)]

        def ask(number):
            priority = ("normal", "high", "low")[number % 3]
            return self.client.submit("check", {"tokens": lists[number]}, priority=priority, deadline=PATIENCE)

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(ask, range(len(lists))))
        self.assertEqual(len(concurrent.futures.wait(answers, PATIENCE).done), len(lists))
        for tokens, answer in zip(lists, answers):
            self.assertEqual(answer.result()["state"].tolist(), check_hash(tokens))
        self.assertEqual(self.client.in_flight, 0)
        self.assertEqual(self.client.unknown_replies, 0)
        self.assertEqual(self.server.answers(), {"ok": len(lists)})

    def test_asyncio(self):
        async def ask():
            waits = [asyncio.wrap_future(self.client.submit("check", {"tokens": [i]})) for i in range(20)]
            return await asyncio.gather(*waits)

        states = [reply["state"].tolist() for reply in asyncio.run(ask())]
        self.assertEqual(states, [check_hash([i]) for i in range(20)])

    def test_ping_and_the_names_of_errors(self):
        self.assertGreater(self.client.ping(PATIENCE), 0)
        infer, tokens = self.client.infer, {"tokens": [1]}
        error = self.fails(Code.MODEL_NOT_FOUND, infer, "nobody", tokens)
        self.assertFalse(error.local)
        self.assertIn("lstm", error.message)
        for wrong in (
            lambda: infer("lstm", {"tokens": [100]}),  # beyond the vocabulary
            lambda: infer("lstm", {"tokens": [0.5]}),
            lambda: infer("lstm", {"words": [1]}),
            lambda: infer("lstm", {"tokens": Tensor("i32", (0,), b"")}),
            lambda: infer("lstm", tokens, outputs=["nothing"]),
            lambda: infer("lstm", tokens, structure=Tree([-1])),
            lambda: infer("lstm", tokens, session=SessionToken(operation="continue", sequence=9)),
        ):
            self.assertFalse(self.fails(Code.INVALID_ARGUMENT, wrong).local)
        self.fails(Code.MODEL_NOT_FOUND, infer, "lstm", tokens, version=77)
        for options in ({"priority": "urgent"}, {"version": -1}, {"trace": -1}, {"trace": "00-1-2-01"}, {"structure": 5}, {"session": "s"}):
            self.assertTrue(self.fails(Code.INVALID_ARGUMENT, infer, "lstm", tokens, **options).local)
        self.assertTrue(self.fails(Code.INVALID_ARGUMENT, infer, "lstm", {}).local)
        self.assertTrue(self.fails(Code.INVALID_ARGUMENT, infer, "lstm", {"tokens": bytes(17 << 20)}).local)
        self.assertEqual(infer("check", tokens)["state"].tolist(), check_hash([1]))

    def test_a_lost_server_answers_everything_and_nothing_is_sent_again(self):
        waiting = [self.client.submit("check", {"tokens": [1] * 4000}) for _ in range(50)]
        self.server.kill()
        for answer in waiting:
            error = answer.exception(PATIENCE)
            self.assertTrue(error is None or error.code == Code.UNAVAILABLE, error)
        error = self.fails(Code.UNAVAILABLE, self.client.infer, "check", {"tokens": [1]})
        self.assertTrue(error.local)
        self.server = self.serve(listen=self.server.endpoint)
        until = time.monotonic() + PATIENCE
        while not self.client.connected and time.monotonic() < until:
            time.sleep(0.01)
        self.assertEqual(self.client.infer("check", {"tokens": [2]})["state"].tolist(), check_hash([2]))
        self.assertEqual(self.server.answers(), {"ok": 1})

    def test_nobody_there(self):
        with tempfile.TemporaryDirectory() as folder:
            self.fails(Code.UNAVAILABLE, Client, f"ipc://{folder}/nobody", connect_timeout=0.1)
            # Whoever waits for answers so long at most waits no longer for the connection.
            with self.assertRaisesRegex(VolvoxError, r"within 0\.1 s; is it running"):
                Client(f"ipc://{folder}/nobody", timeout=0.1)
        with self.assertRaisesRegex(VolvoxError, "'127.0.0.1:7100' is no endpoint; write tcp://HOST:PORT"):
            Client("127.0.0.1:7100")
        self.fails(Code.INVALID_ARGUMENT, Client, "carrier pigeon")


class SlowModels(AgainstAServer):
    """A task takes 50 ms: long chains do not end while a test looks."""

    config = '[device]\nkind = "timed"\ntimed_task_us = 50000\n[limits]\nmax_requests_in_flight = 4\n'
    slow = {"tokens": [1] * 4000}

    def test_deadlines_and_time_limits(self):
        error = self.fails(Code.DEADLINE_EXCEEDED, self.client.infer, "check", self.slow, deadline=0.2)
        self.assertFalse(error.local)
        error = self.fails(Code.DEADLINE_EXCEEDED, self.client.infer, "check", self.slow, timeout=0.2)
        self.assertTrue(error.local)
        self.assertEqual(self.client.infer("check", {"tokens": [3]}).cells, 1)
        # The server was told of the one given up on.
        self.assertEqual(self.server.answers(), {"deadline_exceeded": 1, "cancelled": 1, "ok": 1})

    def test_cancel(self):
        answer = self.client.submit("check", self.slow)
        self.client.ping(PATIENCE)  # behind it on the same connection: the server has the request
        self.assertTrue(answer.cancel())
        error = answer.exception(PATIENCE)
        self.assertEqual((error.code, error.local), (Code.CANCELLED, False))
        self.assertFalse(answer.cancel())

    def test_overload_is_typed_and_says_when_to_come_back(self):
        answers = [self.client.submit("check", self.slow) for _ in range(6)]
        refused = [answer for answer in concurrent.futures.as_completed(answers[-2:], PATIENCE)]
        for answer in refused:
            error = answer.exception()
            self.assertEqual((error.code, error.local), (Code.OVERLOADED, False))
            self.assertGreater(error.retry_after, 0)

    def test_close_answers_what_waits(self):
        answer = self.client.submit("check", self.slow)
        self.client.close()
        self.client.close()
        self.assertEqual(answer.exception(0).code, Code.CANCELLED)
        self.fails(Code.UNAVAILABLE, self.client.infer, "check", self.slow)


class AgainstNonsense(unittest.TestCase):
    """A ROUTER socket that answers what a server never would."""

    def setUp(self):
        self.context = zmq.Context()
        self.router = self.context.socket(zmq.ROUTER)
        self.router.linger = 0
        port = self.router.bind_to_random_port("tcp://127.0.0.1")
        self.router.rcvtimeo = 1000 * PATIENCE
        self.client = Client(f"tcp://127.0.0.1:{port}", timeout=PATIENCE, connect_timeout=PATIENCE)
        self.addCleanup(self.context.term)
        self.addCleanup(self.router.close)
        self.addCleanup(self.client.close)

    def reply(self, kind, request_id, body=b"", final=True, index=0, version=1, code=0, model_version=0):
        """A reply header, by the same means as a request's: its numbers lie in one struct."""
        out = wire.Builder(8, 3)
        numbers = (version, wire.REPLY_KINDS.index(kind), code, int(final), request_id, index)
        wire.struct.pack_into("<HHHBxQI", out.bytes, out.root, *numbers)
        wire.struct.pack_into("<I", out.bytes, out.root + 56, model_version)
        return [bytes(out.finish()), body]

    def body(self, value):
        """A reply's body is the list that a request's body has as its second pointer."""
        out = wire.Builder(0, 1)
        place = out.add_structs(out.root, 1, 1, 3)
        wire.struct.pack_into("<H", out.bytes, place, wire.TYPES.index("u64"))
        out.add_text(place + 8, "state")
        out.add_list(place + 24, 2, 8, value.to_bytes(8, "little"))
        return bytes(out.finish())

    def ask(self, **options):
        """(the future, the client's name at the router, the request's id)"""
        answer = self.client.submit("check", {"tokens": [1]}, **options)
        name, header, _ = self.router.recv_multipart()
        return answer, name, wire.struct.unpack_from("<Q", header, 24)[0]

    def test_nonsense_is_dropped_and_the_answer_still_found(self):
        answer, name, number = self.ask()
        chance = random.Random(1)
        good = self.reply("result", number, self.body(42))
        nonsense = [[b""], [b"", b""], [b"x" * 8, b""], [b"a", b"b", b"c"], [bytes(8192), b""], [good[0]], [*good, b""]]
        nonsense += [[chance.randbytes(8 * chance.randrange(1, 30)), b""] for _ in range(200)]
        nonsense += [self.reply("result", number + 7, self.body(1)), self.reply("error", 0, code=1)]
        for frames in nonsense:
            self.router.send_multipart([name, *frames])
        self.router.send_multipart([name, *good])
        self.router.send_multipart([name, *good])  # twice
        self.assertEqual(answer.result(PATIENCE)["state"].tolist(), 42)
        answer, name, number = self.ask()
        self.router.send_multipart([name, *self.reply("result", number, self.body(43))])
        self.assertEqual(answer.result(PATIENCE)["state"].tolist(), 43)
        self.assertEqual(self.client.unknown_replies, len(nonsense) + 1)

    def test_an_unreadable_reply_is_an_answer(self):
        for frames, code in (
            (lambda number: self.reply("result", number, b"nonsense"), Code.INTERNAL),
            (lambda number: self.reply("result", number, version=9), Code.UNSUPPORTED_VERSION),
            (lambda number: self.reply("error", number, code=555), Code.INTERNAL),
        ):
            answer, name, number = self.ask()
            self.router.send_multipart([name, *frames(number)])
            self.assertEqual(answer.exception(PATIENCE).code, code)

    def test_partial_replies_come_once_each(self):
        seen = []
        answer, name, number = self.ask(on_partial=lambda reply: seen.append(reply.index) or 1 / 0)
        with self.assertLogs("volvox"):  # a callback that fails is reported, and harms nobody
            for index in (0, 1, 1, 0, 2):
                self.router.send_multipart([name, *self.reply("partial", number, self.body(index), False, index)])
            self.router.send_multipart([name, *self.reply("result", number, self.body(9))])
            self.assertEqual(answer.result(PATIENCE)["state"].tolist(), 9)
        self.assertEqual(seen, [0, 1, 2])

    def test_a_callback_that_would_end_its_thread_harms_nobody(self):
        answer, name, number = self.ask(on_partial=lambda _: sys.exit(1))
        answer.add_done_callback(lambda _: sys.exit(2))
        with self.assertLogs("volvox"):
            self.router.send_multipart([name, *self.reply("partial", number, self.body(0), False, 0)])
            self.router.send_multipart([name, *self.reply("result", number, self.body(9))])
            self.assertEqual(answer.result(PATIENCE)["state"].tolist(), 9)
            later, name, number = self.ask()
            self.router.send_multipart([name, *self.reply("result", number, self.body(8))])
            self.assertEqual(later.result(PATIENCE)["state"].tolist(), 8)

    def test_an_answer_after_the_time_limit_is_dropped_and_the_server_told(self):
        answer, name, number = self.ask(timeout=0.05)
        self.assertEqual(answer.exception(PATIENCE).code, Code.DEADLINE_EXCEEDED)
        header = self.router.recv_multipart()[1]
        self.assertEqual(wire.struct.unpack_from("<HHHxxQ", header, 16)[1::2], (1, number))  # kind cancel
        self.router.send_multipart([name, *self.reply("result", number, self.body(1))])
        later, name, number = self.ask()
        self.router.send_multipart([name, *self.reply("result", number, self.body(2))])
        self.assertEqual(later.result(PATIENCE)["state"].tolist(), 2)
        self.assertEqual(self.client.unknown_replies, 1)

    def test_what_is_left_of_the_deadline_is_told(self):
        self.client.submit("check", {"tokens": [1]}, deadline=5.0)
        left = wire.struct.unpack_from("<Q", self.router.recv_multipart()[1], wire.DEADLINE_AT)[0]
        self.assertLessEqual(left, 5_000_000)
        self.assertGreater(left, 0)

    def test_what_is_no_time_is_refused_and_harms_no_other_request(self):
        answer, name, number = self.ask()
        inputs, infinite, none = {"tokens": [1]}, float("inf"), float("nan")
        for options in ({"deadline": infinite}, {"deadline": -infinite}, {"deadline": none}, {"deadline": 2e13}, {"deadline": 1j},
                        {"timeout": infinite}, {"timeout": none}, {"timeout": 1e300}):  # fmt: skip
            for send, what in ((self.client.submit, inputs), (self.client.submit_bundle, [Part(None, inputs)])):
                with self.subTest(send=send.__name__, **options), self.assertRaises(VolvoxError) as caught:
                    send("check", what, **options)
                self.assertEqual((caught.exception.code, caught.exception.local), (Code.INVALID_ARGUMENT, True))
        self.router.send_multipart([name, *self.reply("result", number, self.body(42))])
        self.assertEqual(answer.result(PATIENCE)["state"].tolist(), 42)
        answer, name, number = self.ask(deadline=1e8)  # only far away
        self.router.send_multipart([name, *self.reply("result", number, self.body(43))])
        self.assertEqual(answer.result(PATIENCE)["state"].tolist(), 43)

    def test_the_clients_own_bounds(self):
        endpoint = self.router.last_endpoint.decode()
        for options in ({"max_in_flight": 1}, {"max_bytes_in_flight": 200}):
            with Client(endpoint, connect_timeout=PATIENCE, **options) as client:
                waiting = client.submit("check", {"tokens": [1]})
                with self.assertRaises(VolvoxError) as caught:
                    client.submit("check", {"tokens": [2]})
                self.assertEqual((caught.exception.code, caught.exception.local), (Code.OVERLOADED, True))
                name, header, _ = self.router.recv_multipart()
                number = wire.struct.unpack_from("<Q", header, 24)[0]
                self.router.send_multipart([name, *self.reply("result", number, self.body(5))])
                waiting.result(PATIENCE)
                self.assertEqual(client.in_flight, 0)
                client.submit("check", {"tokens": [3]})
                self.router.recv_multipart()

    def test_no_thread_is_left_behind(self):
        before = threading.active_count()
        for _ in range(5):
            with Client(self.router.last_endpoint.decode(), connect_timeout=PATIENCE):
                pass
        self.assertEqual(threading.active_count(), before)


if __name__ == "__main__":
    VOLVOX = sys.argv.pop(1)
    unittest.main()
