"""Sessions of a real server: streams in parts, with repeats, broken connections, spills and cancellations.

Usage: python_session_test.py VOLVOX [unittest's options]      VOLVOX: the executable
"""

import dataclasses
import json
import pathlib
import random
import subprocess
import sys
import unittest

import python_client_test as base
from python_client_test import AgainstAServer, check_hash
from volvox_client import Code, Part, SessionToken, VolvoxError

FEW_PLACES = "[sessions]\nmax_resident = 3\n"


class Stream:
    """One session, as its client sees it."""

    def __init__(self, model):
        self.model, self.token, self.tokens = model, SessionToken.begin(), []

    def submit(self, client, tokens):
        self.sent = list(tokens)
        return client.submit(self.model, {"tokens": self.sent}, session=self.token)

    def take(self, pending):
        """The answer's first output. Afterwards the token is that of the next part."""
        reply = pending.result(base.PATIENCE)
        self.tokens += self.sent
        self.token = reply.session.next()
        return next(iter(reply.tensors.values())).data

    def send(self, client, tokens):
        return self.take(self.submit(client, tokens))

    def ending(self):
        return dataclasses.replace(self.token, operation="end")


class Sessions(AgainstAServer):
    config = FEW_PLACES

    def whole(self, model, tokens):
        reply = self.client.infer(model, {"tokens": tokens})
        return next(iter(reply.tensors.values())).data

    def test_an_lstm_in_parts_gives_the_same_bits_as_in_one_pass(self):
        chance = random.Random(5)
        streams = [Stream("lstm") for _ in range(8)]
        for _ in range(4):
            parts = [[chance.randrange(100) for _ in range(chance.randint(1, 20))] for _ in streams]
            answers = [stream.submit(self.client, part) for stream, part in zip(streams, parts)]
            for stream, answer in zip(streams, answers):
                self.assertEqual(stream.take(answer), self.whole("lstm", stream.tokens))
        for stream in streams:
            self.client.infer("lstm", {}, session=stream.ending())

    def test_streams_with_repeats_and_cancellations_lose_and_double_nothing(self):
        chance = random.Random(6)
        streams = [Stream("check") for _ in range(30)]
        for _ in range(6):
            answers = []
            for stream in streams:
                part = [chance.randrange(1000) for _ in range(chance.randint(1, 9))]
                answers.append([stream.submit(self.client, part)])
                if chance.random() < 0.3:
                    answers[-1].append(stream.submit(self.client, part))  # the same once more
                elif chance.random() < 0.3:
                    answers[-1][0].cancel()
            for stream, copies in zip(streams, answers):
                try:
                    state = stream.take(copies[0])
                except VolvoxError as error:
                    self.assertEqual(error.code, Code.CANCELLED)
                    continue
                expected = check_hash(stream.tokens).to_bytes(8, "little")
                self.assertEqual(state, expected)
                for copy in copies[1:]:
                    self.assertEqual(copy.result(base.PATIENCE).tensors["state"].data, expected)

    def test_parts_in_a_bundle_give_the_same_bits_as_alone(self):
        chance = random.Random(7)
        streams = [Stream("lstm") for _ in range(40)]
        for _ in range(4):
            for stream in streams:
                stream.sent = [chance.randrange(100) for _ in range(chance.randint(1, 20))]
            parts = [Part(stream.token, {"tokens": stream.sent}) for stream in streams]
            for stream, answer in zip(streams, self.client.submit_bundle("lstm", parts, deadline=base.PATIENCE)):
                self.assertEqual(stream.take(answer), self.whole("lstm", stream.tokens))
        ends = [Part(stream.ending(), {}) for stream in streams]
        for stream, answer in zip(streams, self.client.submit_bundle("lstm", ends)):
            reply = answer.result(base.PATIENCE)
            self.assertEqual((reply.tensors, reply.session.id_lo), ({}, stream.token.id_lo))
        self.fails(Code.SESSION_EXPIRED, self.client.infer, "lstm", {"tokens": [1]}, session=streams[0].token)
        self.assertEqual((self.client.in_flight, self.client.unknown_replies, self.client._bundles), (0, 0, {}))

    def test_parts_of_a_bundle_fail_each_for_itself(self):
        stream, other = Stream("check"), Stream("check")
        stream.send(self.client, [1])
        stale = dataclasses.replace(stream.token, epoch=0)
        parts = [Part(stale, {"tokens": [2]}), Part(stream.token, {"tokens": [2, 3]}), Part(other.token, {"tokens": [9]}),
                 Part(None, {"tokens": [4]}), Part(stream.token, {"tokens": [2, 3]})]  # fmt: skip
        answers = self.client.submit_bundle("check", parts)
        self.fails(Code.INVALID_ARGUMENT, answers[0].result, base.PATIENCE)
        states = [answer.result(base.PATIENCE)["state"].tolist() for answer in answers[1:]]
        self.assertEqual(states, [check_hash([1, 2, 3]), check_hash([9]), check_hash([4]), check_hash([1, 2, 3])])
        self.assertIsNone(answers[3].result().session)

    def test_a_bundle_is_refused_as_a_whole(self):
        parts = [Part(SessionToken.begin(), {"tokens": [number]}) for number in range(3)]
        for answer in self.client.submit_bundle("nobody", parts):
            self.fails(Code.MODEL_NOT_FOUND, answer.result, base.PATIENCE)
        self.fails(Code.INVALID_ARGUMENT, self.client.submit_bundle, "check", [])
        uneven = [Part(None, {"tokens": [1]}), Part(None, {"tokens": [1.5]})]
        self.fails(Code.INVALID_ARGUMENT, self.client.submit_bundle, "check", uneven)

    def test_a_part_of_a_bundle_is_cancelled_alone(self):
        first, second = Stream("check"), Stream("check")
        first.send(self.client, [1])
        early = dataclasses.replace(first.token, sequence=first.token.sequence + 1)  # waits for the one before it
        waiting, done = self.client.submit_bundle("check", [Part(early, {"tokens": [3]}), Part(second.token, {"tokens": [5]})])
        self.assertEqual(done.result(base.PATIENCE)["state"].tolist(), check_hash([5]))
        self.assertFalse(waiting.done())
        waiting.cancel()
        self.fails(Code.CANCELLED, waiting.result, base.PATIENCE)
        self.assertEqual(first.send(self.client, [2]), check_hash([1, 2]).to_bytes(8, "little"))

    def test_a_load_in_bundles_with_repeats_and_cancellations(self):
        report = pathlib.Path(self.folder) / "load.json"
        load = [base.VOLVOX, "load", "--connect", self.server.endpoint, "--model", "lstm", "--vocabulary", "100", "--bundle"]
        load += ["--sessions", "60", "--parts", "6", "--length", "4", "--every-ms", "5", "--seconds", "2", "--json", str(report)]
        load += ["--repeat-parts", "0.1", "--cancel-parts", "0.1", "--abandon-after", "0.02"]
        subprocess.run(load, check=True, stdout=subprocess.DEVNULL)
        said = json.loads(report.read_text())
        self.assertGreater(said["verified"], 60, said)
        self.assertEqual((said["wrong"], said["lost"], said["duplicates"], said["over"]), (0, 0, 0, 0), said)
        self.assertLessEqual(set(said["errors"]), {"CANCELLED"}, said)

    def test_a_part_is_repeated_over_another_connection(self):
        stream = Stream("check")
        stream.send(self.client, [1, 2])
        stream.submit(self.client, [3]).result(base.PATIENCE)  # answered, but say that it got lost
        self.client.close()
        other = self.connect()
        self.assertEqual(stream.send(other, [3]), check_hash([1, 2, 3]).to_bytes(8, "little"))
        self.assertEqual(stream.send(other, [4]), check_hash([1, 2, 3, 4]).to_bytes(8, "little"))

    def test_an_ended_session_is_gone(self):
        stream = Stream("check")
        stream.send(self.client, [1])
        self.client.infer("check", {}, session=stream.ending())
        self.fails(Code.SESSION_EXPIRED, self.client.infer, "check", {"tokens": [2]}, session=stream.token)
        unknown = dataclasses.replace(stream.token, id_lo=stream.token.id_lo ^ 1)
        self.fails(Code.SESSION_LOST, self.client.infer, "check", {"tokens": [2]}, session=unknown)

    def test_the_command_line_keeps_a_session_in_a_file(self):
        file = pathlib.Path(self.folder) / "session.json"

        def infer(tokens, *options):
            command = [base.VOLVOX, "infer", "--connect", self.server.endpoint, "--session", str(file), *options]
            request = json.dumps({"model": "check", "tokens": tokens}).encode()
            answer = json.loads(subprocess.run(command, input=request, capture_output=True, check=True).stdout)
            return int(answer["outputs"]["state"]["data"][0])

        self.assertEqual(infer([1, 2]), check_hash([1, 2]))
        self.assertEqual(infer([3]), check_hash([1, 2, 3]))
        self.assertEqual(infer([4], "--end"), check_hash([1, 2, 3, 4]))
        self.assertFalse(file.exists())
        self.assertEqual(infer([5]), check_hash([5]))


if __name__ == "__main__":
    base.VOLVOX = sys.argv.pop(1)
    unittest.main()
