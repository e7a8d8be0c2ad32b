"""Traces that servers, routers and nodes send to a collector.

Usage: trace_export_test.py VOLVOX [unittest's options]      VOLVOX: the executable
"""

import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

from otlp_receiver import Receiver, Schema, attributes_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/measure")]

from cluster_processes import Cluster, Loopback  # noqa: E402
from served import PATIENCE, Server  # noqa: E402

VOLVOX = sys.argv.pop(1)
TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
# The form in which npm's @opentelemetry/otlp-transformer 0.301 (JsonTraceSerializer) writes three spans.
SAMPLE = {
    "resourceSpans": [
        {
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}], "droppedAttributesCount": 0},
            "scopeSpans": [
                {
                    "scope": {"name": "shop", "version": "1"},
                    "spans": [
                        {
                            "traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": "b7ad6b7169203331", "parentSpanId": "53995c3f42cd8ad8",
                            "name": "query", "kind": 1, "startTimeUnixNano": "1700000000049000000", "endTimeUnixNano": "1700000000049116028",
                            "attributes": [], "droppedAttributesCount": 0,
                            "events": [{"attributes": [{"key": "n", "value": {"intValue": 1}}], "name": "row",
                                        "timeUnixNano": "1700000000049071036", "droppedAttributesCount": 0}],
                            "droppedEventsCount": 0, "status": {"code": 0}, "links": [], "droppedLinksCount": 0, "flags": 257,
                        },
                        {
                            "traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": "53995c3f42cd8ad8", "parentSpanId": "00f067aa0ba902b7",
                            "name": "order", "kind": 2, "startTimeUnixNano": "1700000000048000000", "endTimeUnixNano": "1700000000048717949",
                            "attributes": [{"key": "text", "value": {"stringValue": "x"}}, {"key": "number", "value": {"intValue": 5}},
                                           {"key": "real", "value": {"doubleValue": 0.5}}, {"key": "flag", "value": {"boolValue": True}},
                                           {"key": "list", "value": {"arrayValue": {"values": [{"stringValue": "x"}]}}}],
                            "droppedAttributesCount": 0, "events": [], "droppedEventsCount": 0,
                            "status": {"code": 2, "message": "bad"}, "links": [], "droppedLinksCount": 0, "flags": 769,
                        },
                        {
                            "traceId": "a7a7f6a47bca07bb0c5967a01e38b6d3", "spanId": "f43d9bcb018a2f06", "name": "root", "kind": 1,
                            "startTimeUnixNano": "1700000000049000000", "endTimeUnixNano": "1700000000049005518", "attributes": [],
                            "droppedAttributesCount": 0, "events": [], "droppedEventsCount": 0, "status": {"code": 0}, "links": [],
                            "droppedLinksCount": 0, "flags": 257,
                        },
                    ],
                }
            ],
        }
    ]
}  # fmt: skip


def infer(url, tokens, **headers):
    body = {"inputs": [{"name": "tokens", "datatype": "INT32", "shape": [len(tokens)], "data": tokens}]}
    request = urllib.request.Request(url + "/v2/models/m/infer", json.dumps(body).encode(), {"Content-Type": "application/json", **headers})
    return urllib.request.urlopen(request, timeout=PATIENCE).headers


def tracing(url, **keys):
    lines = {"collector": json.dumps(url), "export_interval_ms": 20, **keys}
    return "[tracing]\n" + "".join(f"{key} = {value}\n" for key, value in lines.items())


def exported(values):
    prefix = 'volvox_trace_spans_total{outcome="'
    return {name[len(prefix) : -2]: int(value) for name, value in values.items() if name.startswith(prefix) and value > 0}


class TheReceiver(unittest.TestCase):
    def test_it_takes_what_other_programs_write(self):
        self.assertEqual(Schema(lax=True).complaints(SAMPLE), [])
        self.assertNotEqual(Schema().complaints(SAMPLE), [], "numbers are strings, strictly")

    def test_it_takes_nothing_else(self):
        def spoil(change):
            bad = copy.deepcopy(SAMPLE)
            change(bad, bad["resourceSpans"][0]["scopeSpans"][0]["spans"][1])
            return Schema(lax=True).complaints(bad)

        upper, zero = TRACE.upper(), "0" * 32
        for change in (
            lambda document, _: document.update(more=1),
            lambda document, _: document["resourceSpans"][0].pop("resource"),
            lambda document, _: document["resourceSpans"][0]["resource"].update(attributes=[]),
            lambda _, span: span.update(traceId=upper),
            lambda _, span: span.update(traceId=zero),
            lambda _, span: span.update(traceId=TRACE[:-1]),
            lambda _, span: span.update(spanId="AAAAAAAAAAAA"),
            lambda _, span: span.update(parentSpanId=""),
            lambda _, span: span.update(parentSpanId=span["spanId"]),
            lambda _, span: span.update(startTimeUnixNano=1700000000048000000),
            lambda _, span: span.update(endTimeUnixNano="1"),
            lambda _, span: span.update(kind="SERVER"),
            lambda _, span: span.update(kind=0),
            lambda _, span: span.update(name=""),
            lambda _, span: span.pop("name"),
            lambda _, span: span.update(unknown=1),
            lambda _, span: span["status"].update(code="2"),
            lambda _, span: span["attributes"].append({"key": "a"}),
            lambda _, span: span["attributes"].append({"key": "a", "value": {"intValue": "05"}}),
            lambda _, span: span["attributes"].append({"key": "a", "value": {"intValue": 0.5}}),
            lambda _, span: span["attributes"].append({"key": "a", "value": {"text": "x"}}),
            lambda _, span: span["attributes"].append({"key": "a", "value": {"stringValue": "x", "boolValue": True}}),
        ):
            self.assertNotEqual(spoil(change), [])


class Exports(unittest.TestCase):
    def receive(self, **options):
        receiver = Receiver(**options)
        self.addCleanup(receiver.close)
        return receiver

    def start(self, config):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        server = Server(VOLVOX, scratch.name, (("check", "m"),), config=config, http="127.0.0.1:0", options=("--admin", ""))
        self.addCleanup(server.kill)
        return server

    def load(self, server, requests):
        command = [VOLVOX, "load", "--connect", server.endpoint, "--model", "m", "--vocabulary", "1000", "--warmup", "0"]
        command += ["--concurrency", "8", "--requests", str(requests), "--length", "9"]
        subprocess.run(command, check=True, timeout=PATIENCE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def wait_until(self, condition):
        until = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)

    def test_every_request_arrives_with_its_parts(self):
        receiver = self.receive()
        server = self.start(tracing(receiver.url, rate=1.0, export_batch=16))
        self.load(server, 100)
        infer(server.http, [1, 2])
        self.wait_until(lambda: len(receiver.spans) + len(receiver.complaints) >= 101 * 5)
        self.assertEqual(receiver.complaints, [])
        self.wait_until(lambda: exported(server.values()) == {"sent": 101 * 5})
        self.assertEqual(receiver.resources[0]["service.name"], "volvox")
        self.assertEqual(receiver.resources[0]["process.pid"], str(server.process.pid))
        self.assertEqual(len({span["spanId"] for span in receiver.spans}), 101 * 5)
        whole = {span["spanId"]: span for span in receiver.spans if span["kind"] == 2}
        self.assertEqual(len(whole), 101)
        self.assertEqual(len({span["traceId"] for span in whole.values()}), 101)
        self.assertEqual(sorted(attributes_of(span)["volvox.cells"] for span in whole.values()), ["2"] + ["9"] * 100)
        self.assertEqual({attributes_of(span)["volvox.outcome"] for span in whole.values()}, {"ok"})
        parts = [span for span in receiver.spans if span["kind"] == 1]
        self.assertEqual(sorted(span["name"] for span in parts), sorted(["edge", "queue", "compute", "reply"] * 101))
        for part in parts:
            self.assertEqual(part["traceId"], whole[part["parentSpanId"]]["traceId"])
        now = time.time_ns()
        self.assertTrue(all(now - PATIENCE * 10**9 < int(span["startTimeUnixNano"]) <= now for span in receiver.spans))

    def test_a_rate_chooses_by_trace(self):
        receiver = self.receive()
        server = self.start(tracing(receiver.url, rate=0.5, max_sampled_per_second=0))
        chosen, other = "0" * 16 + "00" + "f" * 14, "0" * 16 + "ff" + "7" + "f" * 13
        for trace in (chosen, other, chosen):
            told = infer(server.http, [1], traceparent=f"00-{trace}-{CALLER}-00").get("traceparent")
            self.assertEqual(told is None, trace == other)
        self.wait_until(lambda: len(receiver.spans) >= 10)
        self.assertEqual({span["traceId"] for span in receiver.spans}, {chosen})
        self.assertEqual(receiver.complaints, [])

    def test_callers_that_trace_are_followed_up_to_the_bound(self):
        receiver = self.receive()
        server = self.start(tracing(receiver.url, max_sampled_per_second=2))
        for _ in range(2):
            infer(server.http, [1], traceparent=f"00-{TRACE}-{CALLER}-00")
        self.assertNotIn("traceparent", infer(server.http, [1]))
        said = [infer(server.http, [1], traceparent=f"00-{TRACE}-{CALLER}-01").get("traceparent") for _ in range(40)]
        followed = [one for one in said if one]
        self.assertGreaterEqual(len(followed), 2)
        self.wait_until(lambda: len(receiver.spans) >= 5 * len(followed))
        whole = [span for span in receiver.spans if span["kind"] == 2]
        self.assertEqual([span["parentSpanId"] for span in whole], [CALLER] * len(followed))
        self.assertEqual([f"00-{TRACE}-{span['spanId']}-01" for span in whole], followed)
        self.assertEqual(server.values()["volvox_trace_not_followed_total"], 40 - len(followed))

    def test_what_is_to_be_tried_again_arrives_once(self):
        receiver = self.receive(answers=[(503, {}, b"busy"), (429, {"Retry-After": "1"}, b"")])
        server = self.start(tracing(receiver.url, rate=1.0))
        infer(server.http, [1])
        self.wait_until(lambda: len(receiver.spans) + len(receiver.complaints) >= 5)
        self.assertEqual((len(receiver.spans), receiver.complaints, receiver.messages), (5, [], 3))
        self.assertIn("HTTP 503 busy", server.log())

    def test_what_is_refused_is_counted_and_left(self):
        partial = b'{"partialSuccess": {"rejectedSpans": "2", "errorMessage": "too old"}}'
        receiver = self.receive(answers=[(400, {}, b"bad"), (200, {}, partial), (302, {"Location": "http://127.0.0.1:1/"}, b"")])
        server = self.start(tracing(receiver.url, rate=1.0))
        for message in (1, 2, 3):
            infer(server.http, [1])
            self.wait_until(lambda count=message: sum(exported(server.values()).values()) == 5 * count)
        self.assertEqual(exported(server.values()), {"refused": 12, "sent": 3})
        self.assertEqual(receiver.messages, 3)

    def test_an_answer_without_end_is_none(self):
        receiver = self.receive(answers=[(200, {}, b"x" * (1 << 20))])
        server = self.start(tracing(receiver.url, rate=1.0, export_attempts=1))
        infer(server.http, [1])
        self.wait_until(lambda: exported(server.values()) == {"unreachable": 5})
        infer(server.http, [1])
        self.wait_until(lambda: exported(server.values()) == {"unreachable": 5, "sent": 5})

    def test_a_collector_that_hangs_holds_up_nobody(self):
        held = threading.Event()
        self.addCleanup(held.set)
        receiver = self.receive(held=held)
        server = self.start(tracing(receiver.url, rate=1.0, export_queue=10, export_batch=5, export_timeout_ms=60000))
        self.load(server, 200)
        values = server.values()
        self.assertEqual(values["volvox_trace_waiting"], 10)
        self.assertEqual(server.answers(), {"ok": 200})
        self.assertGreaterEqual(exported(values)["no_room"], (200 - 10 - 5) * 5)
        self.assertEqual(server.stop(), 0)

    def test_a_collector_that_is_gone_holds_up_nobody(self):
        receiver = Receiver()
        receiver.close()
        server = self.start(tracing(receiver.url, rate=1.0, export_attempts=1, export_batch=1))
        self.load(server, 20)
        self.wait_until(lambda: exported(server.values()) == {"unreachable": 20 * 5})
        self.assertEqual(server.log().count("the collector does not take all traces"), 1)
        self.assertEqual(server.stop(), 0)

    def test_the_last_ones_are_sent_at_the_end(self):
        receiver = self.receive()
        server = self.start(tracing(receiver.url, rate=1.0, export_interval_ms=60000))
        infer(server.http, [1])
        self.assertEqual(server.stop(), 0)
        self.assertEqual((len(receiver.spans), receiver.complaints), (5, []))

    def test_a_trace_goes_through_router_and_node(self):
        receiver = self.receive()
        with tempfile.TemporaryDirectory() as folder:
            cluster = Cluster(VOLVOX, folder, Loopback(), tracing(receiver.url, rate=1.0), routers=1, nodes=1)
            cluster.new_model("check", "m")
            try:
                cluster.start()
                self.load_cluster(cluster)
                self.wait_until(lambda: len(receiver.spans) + len(receiver.complaints) >= 20 * 9)
            finally:
                cluster.end()
        self.assertEqual(receiver.complaints, [])
        whole = [span for span in receiver.spans if span["kind"] == 2]
        routers = {span["spanId"]: span for span in whole if attributes_of(span)["volvox.door"] == "zeromq"}
        nodes = [span for span in whole if attributes_of(span)["volvox.door"] == "cluster"]
        self.assertEqual((len(routers), len(nodes)), (20, 20))
        for span in nodes:
            self.assertEqual(span["traceId"], routers[span["parentSpanId"]]["traceId"])
        names = sorted(span["name"] for span in receiver.spans if span["kind"] == 1 and span["parentSpanId"] in routers)
        self.assertEqual(names, sorted(["placement", "node", "reply"] * 20))

    def load_cluster(self, cluster):
        command = [VOLVOX, "load", "--connect", cluster.routers[0].endpoint, "--model", "m", "--vocabulary", "1000", "--warmup", "0"]
        subprocess.run([*command, "--concurrency", "4", "--requests", "20"], check=True, timeout=PATIENCE, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    unittest.main()
