"""A collector that takes nothing but what OpenTelemetry's protocol over HTTP says, in its JSON form (OTLP 1.3).

Ids are lower-case hexadecimal, 64-bit numbers strings (proto3's JSON mapping), unknown keys are refused.
"""

import http.server
import json
import re
import threading

NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,18})")


def text(value):
    return isinstance(value, str)


def flag(value):
    return isinstance(value, bool)


def real(value):
    return isinstance(value, (int, float)) and not flag(value)


def small(least, most):
    return lambda value: isinstance(value, int) and not flag(value) and least <= value <= most


def long(value):
    return text(value) and NUMBER.fullmatch(value) is not None and -(2**63) <= int(value) < 2**63


def unsigned_long(value):
    return text(value) and NUMBER.fullmatch(value) is not None and 0 <= int(value) < 2**64


def hexadecimal(digits):
    return lambda value: text(value) and re.fullmatch(f"[0-9a-f]{{{digits}}}", value) is not None and int(value, 16) != 0


def list_of(check):
    return lambda value: isinstance(value, list) and all(check(one) for one in value)


def message(required, optional):
    """An object that has all the required members, perhaps the optional ones, and no others."""
    fields = required | optional

    def check(value):
        if not isinstance(value, dict) or not required.keys() <= value.keys() <= fields.keys():
            return False
        return all(fields[name](member) for name, member in value.items())

    return check


class Schema:
    """`lax`: an attribute's number may be a number, as some SDKs write those below 2^53."""

    def __init__(self, lax=False):
        whole = (lambda value: long(value) or small(-(2**53), 2**53)(value)) if lax else long
        kinds = {"stringValue": text, "boolValue": flag, "intValue": whole, "doubleValue": real}

        def any_value(value):
            if isinstance(value, dict) and set(value) == {"arrayValue"}:
                return message({}, {"values": list_of(any_value)})(value["arrayValue"])
            return isinstance(value, dict) and len(value) == 1 and all(key in kinds and kinds[key](one) for key, one in value.items())

        attributes = list_of(message({"key": text, "value": any_value}, {}))
        count = small(0, 2**32 - 1)
        dropped = {"attributes": attributes, "droppedAttributesCount": count}
        event = message({"timeUnixNano": unsigned_long, "name": text}, dropped)
        link = message({"traceId": hexadecimal(32), "spanId": hexadecimal(16)}, {"traceState": text, "flags": count, **dropped})
        span = message(
            {"traceId": hexadecimal(32), "spanId": hexadecimal(16), "name": lambda value: text(value) and value != "",
             "kind": small(1, 5), "startTimeUnixNano": unsigned_long, "endTimeUnixNano": unsigned_long},
            {"parentSpanId": hexadecimal(16), "traceState": text, "flags": count, "events": list_of(event), "links": list_of(link),
             "droppedEventsCount": count, "droppedLinksCount": count, "status": message({}, {"code": small(0, 2), "message": text}), **dropped},
        )  # fmt: skip
        scope = message({"name": text}, {"version": text, **dropped})
        scope_spans = message({"scope": scope, "spans": list_of(span)}, {"schemaUrl": text})
        resource = message({"attributes": attributes}, {"droppedAttributesCount": count})
        resource_spans = message({"resource": resource, "scopeSpans": list_of(scope_spans)}, {"schemaUrl": text})
        self._accepts = message({"resourceSpans": list_of(resource_spans)}, {})

    def complaints(self, document):
        """What is wrong with an ExportTraceServiceRequest, in words."""
        if not self._accepts(document):
            return ["it is no ExportTraceServiceRequest"]
        found = []
        for resource in document["resourceSpans"]:
            keys = {attribute["key"] for attribute in resource["resource"]["attributes"]}
            found += [] if "service.name" in keys else ["a resource without service.name"]
        for span in spans_of(document):
            if int(span["endTimeUnixNano"]) < int(span["startTimeUnixNano"]):
                found.append(f"{span} ends before it begins")
            if span.get("parentSpanId") == span["spanId"]:
                found.append(f"{span} is its own parent")
        return found


def spans_of(document):
    return [span for resource in document["resourceSpans"] for scope in resource["scopeSpans"] for span in scope["spans"]]


def attributes_of(span):
    """By key, with their values as they are written."""
    return {attribute["key"]: next(iter(attribute["value"].values())) for attribute in span["attributes"]}


class Quiet(http.server.ThreadingHTTPServer):
    """Says nothing of clients that hang up."""

    daemon_threads = True

    def handle_error(self, *_):
        pass


class Receiver:
    """Listens on a loopback port of its own. `answers`: (status, headers, body) in turn before it takes messages.

    Attributes: `url`, `spans` (taken), `resources` (of each message), `complaints`, `messages` (all that came).
    """

    def __init__(self, answers=(), held=None):
        self.spans, self.resources, self.complaints, self.messages = [], [], [], 0
        self._answers, self._held, self._lock = list(answers), held, threading.Lock()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                status, headers, body = receiver.take(self.path, self.headers, self.rfile)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._server = Quiet(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1/traces"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def take(self, path, headers, stream):
        content = stream.read(int(headers.get("Content-Length", 0)))
        with self._lock:
            self.messages += 1
        if self._held is not None:
            self._held.wait()
        with self._lock:
            if self._answers:
                return self._answers.pop(0)
            found = [] if path == "/v1/traces" else [f"the path is {path}"]
            found += [] if headers.get("Content-Type") == "application/json" else [f"the type is {headers.get('Content-Type')}"]
            found += [] if "Expect" not in headers else ["it expects something"]
            try:
                document = json.loads(content)
                found += Schema().complaints(document)
            except ValueError as error:
                found.append(str(error))
            self.complaints += found
            if found:
                return 400, {}, b"{}"
            self.spans += spans_of(document)
            self.resources += [{item["key"]: next(iter(item["value"].values())) for item in resource["resource"]["attributes"]}
                               for resource in document["resourceSpans"]]  # fmt: skip
            return 200, {"Content-Type": "application/json"}, b'{"partialSuccess":{}}'
