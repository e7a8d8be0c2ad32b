"""The Python client's own Cap'n Proto, against the capnp tool, and against bytes that nobody should send.

Usage: python_wire_test.py [unittest's options]
"""

import array
import dataclasses
import json
import pathlib
import random
import struct
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "protocol" / "python"))

import volvox_wire as wire  # noqa: E402
from volvox_capnp import NESTING, Malformed, Message  # noqa: E402

SCHEMA = str(ROOT / "protocol" / "volvox.capnp")
TOKEN = wire.SessionToken(2**64 - 1, 2, 13, "continue", 14, 2**63, 16, 17, 18, "node-a", "größer", 19)


def capnp(way, type_, content, *options):
    command = ["capnp", "convert", *options, way, SCHEMA, type_]
    return subprocess.run(command, input=content, capture_output=True, check=True).stdout


def as_json(type_, message):
    """What the tool reads in a message that the client wrote."""
    return json.loads(capnp("binary:json", type_, bytes(message)))


def from_json(type_, value, *options):
    """A message that the tool writes, for the client to read."""
    return capnp("json:binary", type_, json.dumps(value, ensure_ascii=False).encode(), *options)


def decode_header(frame):
    return wire.decode_reply_header(wire.read_reply_header(frame)[1])


def session_json():
    return {"idHi": str(2**64 - 1), "idLo": "2", "modelVersion": 13, "operation": "continue", "modelDigest": "14",
            "numericsId": str(2**63), "epoch": "16", "nonce": "17", "sequence": "18", "home": "node-a",
            "replica": "größer", "nonceHi": "19"}  # fmt: skip


def full_header():
    return {"protocolVersion": 1, "kind": "error", "errorCode": 4, "final": True, "requestId": str(2**64 - 2),
            "index": 4, "cells": 24, "retryAfterUs": "2500", "queueUs": "10", "computeUs": "20", "totalUs": "35",
            "server": "node-a", "message": "the queue is full", "sessionToken": session_json(), "undecided": True,
            "modelVersion": 2**32 - 3}  # fmt: skip


def full_body():
    floats = array.array("f", [1.5, -2.0, 0.25]).tobytes()
    return {"outputs": [{"name": "h", "type": "f32", "shape": ["1", "3"], "data": list(floats)},
                        {"name": "n", "type": "u64", "shape": [], "data": [1, 2, 3, 4, 5, 6, 7, 8]},
                        {"name": "none", "type": "i16", "shape": ["0", "7"], "data": []}]}  # fmt: skip


def bundled_body():
    """Answers to five parts: three with outputs, one that only ended its session, one that failed."""
    kind = dict(session_json(), operation="begin", nonce="0", nonceHi="0", idHi="0", idLo="0", sequence="0")
    return {"done": [7, 0, 3, 2], "withOutputs": 3, "cells": [1, 2, 3, 4], "queueUs": [10, 20, 30, 40],
            "computeUs": [5, 6, 7, 8], "totalUs": [50, 60, 70, 80],
            "tokens": {"kinds": [kind, {"operation": "none"}], "kindOf": [0, 1, 0, 0], "idHi": ["1", "2", "3", "4"],
                       "idLo": ["5", "6", "7", "8"], "sequences": ["9", "10", "11", "12"]},
            "outputs": [{"tensor": {"name": "h", "type": "u8", "shape": ["3", "2"], "data": [1, 2, 3, 4, 5, 6]}},
                        {"tensor": {"name": "rows", "type": "u8", "shape": ["4", "1"], "data": [1, 2, 3, 4]}, "rows": [2, 0, 2]}],
            "errors": [{"part": 1, "errorCode": 4, "undecided": True, "retryAfterUs": "2500", "message": "full"}]}  # fmt: skip


class Encoder(unittest.TestCase):
    def test_a_bundle_has_columns(self):
        begin, ended = wire.SessionToken.begin(), dataclasses.replace(TOKEN, operation="end")
        parts = [wire.Part(begin, {"x": [[1.0, 2.0], [3.0, 4.0]]}), wire.Part(TOKEN, {"x": [[5.0, 6.0]]}),
                 wire.Part(ended, {}), wire.Part(None, {"x": [[7.0, 8.0]]})]  # fmt: skip
        body, lengths = wire.encode_bundle(parts, ["h"])
        read = as_json("BundleBody", body)
        self.assertEqual((lengths, read["lengths"], read["outputs"]), ([2, 1, 0, 1], [2, 1, 0, 1], ["h"]))
        self.assertEqual((read["inputs"][0]["shape"], len(read["inputs"])), (["4", "2"], 1))
        self.assertEqual(bytes(read["inputs"][0]["data"]), array.array("f", range(1, 9)).tobytes())
        tokens = read["tokens"]
        self.assertEqual([kind["operation"] for kind in tokens["kinds"]], ["begin", "continue", "end", "none"])
        self.assertEqual(tokens["kinds"][1]["home"], TOKEN.home)
        self.assertEqual(tokens["kindOf"], [0, 1, 2, 3])
        self.assertEqual(tokens["idHi"], [str(begin.nonce_hi), str(TOKEN.id_hi), str(TOKEN.id_hi), "0"])
        self.assertEqual(tokens["idLo"][:2], [str(begin.nonce), str(TOKEN.id_lo)])
        self.assertEqual(tokens["sequences"], ["0", "18", "18", "0"])

    def test_every_field_of_a_request_header(self):
        header = wire.encode_header("infer", 2**64 - 1, "a/größer", 7, "low", 330, (1 << 127) | 5, TOKEN, 2**32 - 1, 9)
        struct.pack_into("<Q", header, wire.DEADLINE_AT, 123456789012)
        self.assertEqual(as_json("RequestHeader", header), {
            "protocolVersion": 1, "kind": "infer", "priority": "low", "requestId": str(2**64 - 1), "modelVersion": 7,
            "cellsHint": 330, "deadlineUs": "123456789012", "traceIdHi": str(1 << 63), "traceIdLo": "5",
            "model": "a/größer", "sessionToken": session_json(), "stream": True, "streamFrom": 2**32 - 1,
            "parts": 9, "parentSpanId": "0", "traceSampled": False})  # fmt: skip

    def test_a_traceparent_is_taken_apart(self):
        trace, span = "8000000000000000" + "0000000000000005", "00f067aa0ba902b7"
        for flags, sampled in (("00", False), ("01", True), ("02", False), ("ff", True)):
            header = wire.encode_header("infer", 1, "m", trace=f"00-{trace}-{span}-{flags}", stream_from=3)
            read = as_json("RequestHeader", header)
            self.assertEqual((read["traceIdHi"], read["traceIdLo"]), (str(1 << 63), "5"))
            self.assertEqual((read["parentSpanId"], read["traceSampled"]), (str(int(span, 16)), sampled))
            self.assertEqual((read["stream"], read["streamFrom"], read["model"]), (True, 3, "m"))
        good = f"00-{trace}-{span}-01"
        for bad in ("", good[:-1], good + "0", good + "\n", good.upper(), "ff" + good[2:], f"00-{'0' * 32}-{span}-01", f"00-{trace}-{'0' * 16}-01"):
            with self.assertRaises(wire.VolvoxError, msg=bad) as caught:
                wire.encode_header("infer", 1, "m", trace=bad)
            self.assertEqual(caught.exception.code, wire.Code.INVALID_ARGUMENT)

    def test_cancel_and_ping(self):
        for kind in ("cancel", "ping"):
            read = as_json("RequestHeader", wire.encode_header(kind, 5))
            self.assertEqual((read["kind"], read["requestId"]), (kind, "5"))

    def test_means_the_same_as_the_golden_requests(self):
        def golden(name):
            text = (ROOT / "tests" / "unit" / "protocol" / name).read_text(encoding="utf-8")
            return bytes(int(byte, 16) for byte in text.replace(",", " ").split())

        header = wire.encode_header("ping", 5, "lstm")
        struct.pack_into("<Q", header, wire.DEADLINE_AT, 1000)
        self.assertEqual(as_json("RequestHeader", header), as_json("RequestHeader", golden("golden_request_header.inc")))
        body = wire.encode_body(wire.Chain(3), {"token": wire.tensor([1, 2, 3])}, ["h"])
        self.assertEqual(as_json("RequestBody", body), as_json("RequestBody", golden("golden_request_body.inc")))

    def test_every_structure(self):
        tokens = {"tokens": wire.tensor([12, 7, 301])}
        for structure, expected in (
            (wire.Chain(3), {"chain": {"length": 3}}),
            (wire.Tree([2, 2, -1]), {"tree": {"parents": [2, 2, -1]}}),
            (wire.Sequences({"source": 3, "target": 7}), {"sequences": {"names": ["source", "target"], "lengths": [3, 7]}}),
            (wire.Lattice(4, [0, 1], [2, 3]), {"lattice": {"length": 4, "starts": [0, 1], "ends": [2, 3]}}),
            (
                wire.Graph(["a", "bc"], [0, 1, 0], [0, 0, 1, 3], [0, 0, 1]),
                {"graph": {"cellTypes": ["a", "bc"], "typeOf": [0, 1, 0], "predecessorOffsets": [0, 0, 1, 3],
                           "predecessors": [0, 0, 1]}},
            ),
        ):  # fmt: skip
            read = as_json("RequestBody", wire.encode_body(structure, tokens, ["h", "c"]))
            self.assertEqual(read["structure"], expected)
            self.assertEqual(read["outputs"], ["h", "c"])
            self.assertEqual(read["inputs"][0]["data"], list(struct.pack("<3i", 12, 7, 301)))

    def test_every_type_and_shape(self):
        values = {name: wire.Tensor(name, (2, 1), bytes(2 * struct.calcsize(letter)))
                  for name, letter in wire.FORMATS.items()}  # fmt: skip
        values["scalar"] = wire.tensor(1.5)
        values["empty"] = wire.tensor([])
        read = {item["name"]: item for item in
                as_json("RequestBody", wire.encode_body(wire.Chain(1), values))["inputs"]}  # fmt: skip
        for name, value in values.items():
            self.assertEqual(read[name]["type"], value.type)
            self.assertEqual(read[name]["shape"], [str(extent) for extent in value.shape])
            self.assertEqual(bytes(read[name]["data"]), value.data)

    def test_python_values_become_tensors(self):
        for values, type_, shape in (
            ([1, -2], "i32", (2,)), ([[1, 2.5]], "f32", (1, 2)), ([True], "bool8", (1,)), (range(4), "i32", (4,)),
            (b"ab", "u8", (2,)), (array.array("q", [1]), "i64", (1,)), (array.array("d", [1]), "f64", (1,)),
            (memoryview(bytes(24)).cast("f", (2, 3)), "f32", (2, 3)), (7, "i32", ()),
        ):  # fmt: skip
            made = wire.tensor(values)
            self.assertEqual((made.type, made.shape), (type_, shape), values)

    def test_whole_numbers_of_64_bits_become_what_models_take(self):
        for values, type_ in (
            (array.array("q", [1, -(2**31)]), "i32"), (array.array("q", [2**31]), "i64"), ([1], "i32"),
            (array.array("Q", [1]), "u64"), (wire.tensor(array.array("q", [1])), "i64"),
        ):  # fmt: skip
            self.assertEqual(wire.input_tensor(values).type, type_)
        self.assertEqual(wire.input_tensor(array.array("q", [7, -9])).data, struct.pack("<2i", 7, -9))

    def test_what_cannot_be_sent_is_refused_before_it_is(self):
        for values in ([1, [2]], [[1], [2, 3]], ["a"], {"a": 1}, None, [2**31], [1e39], object()):
            with self.assertRaises(wire.VolvoxError, msg=repr(values)) as caught:
                wire.tensor(values)
            self.assertEqual(caught.exception.code, wire.Code.INVALID_ARGUMENT)
        one = wire.tensor([1])
        for inputs, outputs in (
            ({"": one}, []), ({"x" * 129: one}, []), ({"a": wire.Tensor("i32", (2,), b"")}, []),
            ({"a": wire.Tensor("i33", (), b"")}, []), ({"a": wire.Tensor("u8", (1,) * 9, b"1")}, []),
            ({"a": wire.Tensor("u8", (-1, -1), b"1")}, []), ({str(i): one for i in range(65)}, []),
            ({"a": one}, ["h", "h"]), ({"a": one}, [""]),
        ):  # fmt: skip
            with self.assertRaises(wire.VolvoxError, msg=repr((inputs, outputs))):
                wire.encode_body(wire.Chain(1), inputs, outputs)
        with self.assertRaises(wire.VolvoxError):
            wire.encode_body("chain", {"a": one})
        with self.assertRaises(wire.VolvoxError):
            wire.encode_header("infer", 1, "m" * 5000)


class Decoder(unittest.TestCase):
    def test_every_field_of_a_reply_header(self):
        # Segments of one word: every pointer is a far one, most of them doubly.
        for options in ((), ("--segment-size=1",), ("--segment-size=9",)):
            header = decode_header(from_json("ReplyHeader", full_header(), *options))
            self.assertEqual((header.request_id, header.kind, header.final), (2**64 - 2, "error", True))
            error = header.error
            self.assertEqual((error.code, error.message), (wire.Code.OVERLOADED, "the queue is full"))
            self.assertAlmostEqual(error.retry_after, 2.5e-3)
            self.assertFalse(error.local)
            self.assertTrue(error.undecided)
            self.assertEqual(header.fields["session"], TOKEN)
            self.assertEqual((header.fields["index"], header.fields["cells"]), (4, 24))
            self.assertEqual(header.fields["version"], 2**32 - 3)
            self.assertEqual(header.fields["server"], "node-a")
            for name, seconds in (("queue", 10e-6), ("compute", 20e-6), ("total", 35e-6)):
                self.assertAlmostEqual(header.fields[name], seconds)

    def test_outputs_with_and_without_numpy(self):
        there = wire.numpy
        for library in {there, None}:
            for options in ((), ("--segment-size=1",)):
                tensors = wire.decode_body(from_json("ReplyBody", full_body(), *options))
                wire.numpy = library
                try:
                    reply = wire.Reply(tensors)
                    self.assertEqual(reply["h"].tolist(), [[1.5, -2.0, 0.25]])
                    self.assertEqual(reply["n"].tolist(), 0x0807060504030201)
                    self.assertEqual(len(reply["none"]), 0)
                finally:
                    wire.numpy = there

    def test_what_is_known_of_a_part_that_failed(self):
        def judged(code, *, local=False, undecided=False, in_session=True, sent=True, doubtful=False):
            error = wire.VolvoxError(code, "why", local=local, undecided=undecided)
            error.judge(in_session, sent, doubtful)
            return error.undecided

        code = wire.Code.UNAVAILABLE
        self.assertFalse(judged(code), "the server has said that it did nothing")
        self.assertTrue(judged(code, undecided=True), "the server does not know")
        self.assertTrue(judged(code, local=True), "the connection is lost")
        self.assertFalse(judged(code, local=True, sent=False), "it never left")
        self.assertTrue(judged(code, doubtful=True), "it may have been done by another server")
        self.assertFalse(judged(wire.Code.SESSION_LOST, doubtful=True), "nobody goes on with it")
        self.assertFalse(judged(code, local=True, in_session=False))

    def test_a_flag_cannot_make_a_result_unfinished(self):
        header = decode_header(from_json("ReplyHeader", {"protocolVersion": 1, "kind": "result", "requestId": "1"}))
        self.assertTrue(header.final)
        header = decode_header(from_json("ReplyHeader", {"protocolVersion": 1, "kind": "partial", "requestId": "1"}))
        self.assertFalse(header.final)

    def test_other_versions_and_unknown_codes(self):
        with self.assertRaises(wire.VolvoxError) as caught:
            decode_header(from_json("ReplyHeader", {"protocolVersion": 2, "requestId": "1"}))
        self.assertEqual(caught.exception.code, wire.Code.UNSUPPORTED_VERSION)
        header = dict(full_header(), errorCode=999)
        self.assertEqual(decode_header(from_json("ReplyHeader", header)).error.code, wire.Code.INTERNAL)

    def test_shapes_that_do_not_fit_are_refused(self):
        for shape in ([4], [-1, -3], [2**62, 2**62, 3], [0, 2**62, 2**62], [1] * 9, []):
            body = full_body()
            body["outputs"][0]["shape"] = [str(extent) for extent in shape]
            with self.assertRaises(Malformed, msg=shape):
                wire.decode_body(from_json("ReplyBody", body))
        body = full_body()
        body["outputs"][1]["name"] = "h"
        with self.assertRaises(Malformed):
            wire.decode_body(from_json("ReplyBody", body))


    def test_answers_in_a_bundle(self):
        for options in ((), ("--segment-size=1",)):
            answers = dict(wire.decode_bundle(from_json("BundleReplyBody", bundled_body(), *options), "node-a"))
            self.assertEqual(sorted(answers), [0, 1, 2, 3, 7])
            shapes = {part: {name: (t.shape, list(t.data)) for name, t in answers[part].tensors.items()} for part in (7, 0, 3, 2)}
            self.assertEqual(shapes[7], {"h": ((2,), [1, 2]), "rows": ((2, 1), [1, 2])})
            self.assertEqual(shapes[0], {"h": ((2,), [3, 4]), "rows": ((0, 1), [])})
            self.assertEqual(shapes[3], {"h": ((2,), [5, 6]), "rows": ((2, 1), [3, 4])})
            self.assertEqual(shapes[2], {})
            token = answers[7].session
            self.assertEqual((token.id_hi, token.id_lo, token.sequence, token.home), (1, 5, 9, "node-a"))
            self.assertIsNone(answers[0].session)
            self.assertEqual((answers[3].cells, answers[3].server), (3, "node-a"))
            self.assertAlmostEqual(answers[3].compute, 7e-6)
            error = answers[1]
            self.assertEqual((error.code, error.message, error.undecided), (wire.Code.OVERLOADED, "full", True))
            self.assertAlmostEqual(error.retry_after, 2.5e-3)

    def test_answers_that_lie_are_refused(self):
        def lie(change):
            body = bundled_body()
            change(body)
            with self.assertRaises(Malformed):
                wire.decode_bundle(from_json("BundleReplyBody", body), "")

        lie(lambda body: body.update(cells=[1, 2, 3]))
        lie(lambda body: body.update(withOutputs=5))
        lie(lambda body: body["tokens"].update(kindOf=[0, 1, 2, 0]))
        lie(lambda body: body["tokens"].update(idLo=["1"]))
        lie(lambda body: body["outputs"][1].update(rows=[2, 1, 2]))
        lie(lambda body: body["outputs"][1].update(rows=[2, 2]))
        lie(lambda body: body["outputs"][0]["tensor"].update(shape=["2", "3"]))
        lie(lambda body: body["outputs"].append(body["outputs"][0]))


class BadBytes(unittest.TestCase):
    """Any bytes are a value or Malformed, in bounded time; no other exception gets out."""

    def decode(self, frame):
        """True if any decoder takes them."""
        taken = 0
        try:
            decode_header(frame)
            taken += 1
        except (Malformed, wire.VolvoxError):
            pass
        try:
            for value in wire.decode_body(frame).values():
                self.assertEqual(value.array().nbytes, len(value.data))
            taken += 1
        except Malformed:
            pass
        try:
            for _, answer in wire.decode_bundle(frame, ""):
                if isinstance(answer, wire.Reply):
                    self.assertTrue(all(value.array().nbytes == len(value.data) for value in answer.tensors.values()))
            taken += 1
        except Malformed:
            pass
        return taken > 0

    def messages(self):
        made = [from_json("ReplyHeader", full_header()), from_json("ReplyBody", full_body())]
        made += [from_json("ReplyHeader", full_header(), "--segment-size=1"), from_json("BundleReplyBody", bundled_body())]
        return made + [from_json("ReplyBody", full_body(), "--segment-size=1")]

    def test_truncated_and_extended(self):
        for message in self.messages():
            self.assertTrue(self.decode(message))
            for size in range(len(message)):
                self.assertFalse(self.decode(message[:size]))
            self.assertFalse(self.decode(message + bytes(8)))

    def test_every_flipped_bit(self):
        accepted = cases = 0
        for message in self.messages():
            for bit in range(8 * len(message)):
                flipped = bytearray(message)
                flipped[bit // 8] ^= 1 << bit % 8
                accepted += self.decode(bytes(flipped))
                cases += 1
        self.assertGreater(cases, 5000)
        self.assertLess(0, accepted)
        self.assertLess(accepted, cases)

    def test_random_damage_and_random_bytes(self):
        chance = random.Random(20240501)
        messages = self.messages()
        for _ in range(4000):
            damaged = bytearray(chance.choice(messages))
            for _ in range(chance.randint(1, 8)):
                damaged[chance.randrange(len(damaged))] = chance.choice((0, 1, 2, 3, 255, chance.randrange(256)))
            self.decode(bytes(damaged))
            words = chance.randrange(40)
            content = bytes(chance.choice((0, 0, chance.randrange(256))) for _ in range(8 * words))
            self.decode(struct.pack("<II", 0, words) + content)

    def message(self, *words, segments=None):
        sizes = segments or (len(words),)
        table = struct.pack(f"<{1 + len(sizes)}I", len(sizes) - 1, *sizes)
        return table + bytes(-len(table) % 8) + struct.pack(f"<{len(words)}Q", *words)

    def refused(self, frame):
        with self.assertRaises(Malformed):
            wire.decode_body(frame)

    def test_pointers_that_lead_nowhere(self):
        far, double = 2, 6
        self.refused(self.message())  # no room for the root's pointer
        self.refused(self.message(far | 7 << 32))  # a segment that does not exist
        self.refused(self.message(far | 5 << 3))  # beyond the segment
        self.refused(self.message(far))  # to itself: a far pointer as landing pad
        self.refused(self.message(double))  # no room for the second word of the pad
        self.refused(self.message(double | 1 << 3, 0, 0))  # the pad is no far pointer
        self.refused(self.message(double | 1 << 3, far | 9 << 32, 0))  # the pad's segment does not exist
        self.refused(self.message(3))  # a capability
        self.refused(self.message(1))  # the root is a list
        self.refused(self.message((2**30 - 9) << 2 | 1 << 32))  # before the segment
        self.refused(self.message(1 << 48))  # a pointer section that is not there
        self.assertEqual(wire.decode_body(self.message(0)), {})

    def test_lists_that_promise_more_than_they_hold(self):
        root = 1 << 48  # one pointer, the next word
        self.refused(self.message(root, 1 | (7 | 1 << 3) << 32, 2**29 << 2))  # 2^29 structs of no size
        self.refused(self.message(root, 1 | (7 | 1 << 3) << 32, 2 << 2 | 1 << 32, 0))  # two of one word in one word
        self.refused(self.message(root, 1 | (7 | 9 << 3) << 32, 0))  # nine words, one there
        self.refused(self.message(root, 1 | (6 | 1 << 3) << 32, 0))  # a list of pointers
        self.assertEqual(wire.decode_body(self.message(root, 1 | 7 << 32, 0)), {})  # none at all

    def test_pointers_that_share_a_target_are_charged(self):
        count, size = 60, 4096
        words, tags = [1 << 48, 1 | (7 | 4 * count << 3) << 32, count << 2 | 1 << 32 | 3 << 48], []
        for number in range(count):
            data = 4 * (count - number) - 4  # words between the data's pointer and the shared bytes
            tags += [8, 0, 0, 1 | data << 2 | (2 | size * 8 << 3) << 32]
        self.refused(self.message(*words, *tags, *[0] * size))

    def test_depth_is_bounded(self):
        message = Message(self.message(*[1 << 48] * (NESTING + 2)))
        inner = message.root()
        with self.assertRaises(Malformed):
            for _ in range(NESTING + 1):
                inner = inner.struct(0)

    def test_segment_tables(self):
        self.refused(struct.pack("<II", 0xFFFFFFFF, 0))
        self.refused(struct.pack("<II", 0, 0xFFFFFFFF))
        self.refused(struct.pack("<II", 600, 0) + bytes(8 * 301))
        self.assertEqual(wire.decode_body(self.message(0, segments=(1, 0, 0))), {})


if __name__ == "__main__":
    unittest.main()
