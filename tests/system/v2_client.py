#!/usr/bin/env python3
"""A client of the Open Inference Protocol v2 over HTTP, and checks of a server with it.

Written from the protocol's public specification alone, with the standard library alone: what it can do, other
clients can.

Usage: v2_client.py URL MODEL FLOATS

MODEL answers UINT64 "state", one number, to INT32 "tokens"; FLOATS a vector of FP32 "h". Both keep sequences. Prints
one line for each check, and fails when any fails.
"""

import json
import struct
import sys
import threading
import urllib.error
import urllib.request

# The specification's tensor data types that the struct module knows.
FORMATS = {
    "BOOL": "?", "UINT8": "B", "UINT16": "H", "UINT32": "I", "UINT64": "Q", "INT8": "b", "INT16": "h", "INT32": "i",
    "INT64": "q", "FP16": "e", "FP32": "f", "FP64": "d",
}  # fmt: skip
JSON_LENGTH = "Inference-Header-Content-Length"


class ServerError(Exception):
    """What the server answered instead of a result."""

    def __init__(self, status, headers, content):
        self.status = status
        self.headers = headers
        try:
            self.message = json.loads(content)["error"]
        except (ValueError, KeyError, TypeError):
            self.message = None
        super().__init__(f"{status}: {self.message or content!r}")


class Client:
    """One server; each call is one HTTP request."""

    def __init__(self, url, timeout=60):
        self.url = url.rstrip("/")
        self.timeout = timeout

    def call(self, path, content=None, headers=None, method=None):
        """The headers and the content of the answer."""
        request = urllib.request.Request(self.url + path, data=content, headers=self.headers_for(content, headers), method=method)
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as answer:
                return answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                raise ServerError(error.code, error.headers, error.read()) from None

    @staticmethod
    def headers_for(content, headers):
        """A content needs a type: that of urllib's own choice is one that any web page could send."""
        return {"Content-Type": "application/json", **(headers or {})} if content is not None else headers or {}

    def get(self, path):
        return json.loads(self.call(path)[1])

    def infer(self, model, inputs, outputs=None, parameters=None, request_id=None, version=None, binary=False):
        """`inputs`: {name: (datatype, shape, values)}; `outputs`: {name: binary?}. Returns the JSON and the values."""
        request = {"inputs": []}
        tail = b""
        for name, (datatype, shape, values) in inputs.items():
            tensor = {"name": name, "datatype": datatype, "shape": shape}
            if binary:
                packed = struct.pack(f"<{len(values)}{FORMATS[datatype]}", *values)
                tensor["parameters"] = {"binary_data_size": len(packed)}
                tail += packed
            else:
                tensor["data"] = values
            request["inputs"].append(tensor)
        if outputs is not None:
            request["outputs"] = [{"name": name, "parameters": {"binary_data": b}} for name, b in outputs.items()]
        if parameters is not None:
            request["parameters"] = parameters
        if request_id is not None:
            request["id"] = request_id
        head = json.dumps(request).encode()
        headers = {"Content-Type": "application/octet-stream" if binary else "application/json"}
        if binary:
            headers[JSON_LENGTH] = str(len(head))
        path = f"/v2/models/{model}" + (f"/versions/{version}" if version is not None else "") + "/infer"
        return self.read_answer(*self.call(path, head + tail, headers))

    @staticmethod
    def read_answer(headers, content):
        length = headers.get(JSON_LENGTH)
        head = json.loads(content if length is None else content[: int(length)])
        tail = b"" if length is None else content[int(length) :]
        values = {}
        for tensor in head["outputs"]:
            size = tensor.get("parameters", {}).get("binary_data_size")
            if size is None:
                values[tensor["name"]] = tensor["data"]
                continue
            letter = FORMATS[tensor["datatype"]]
            values[tensor["name"]] = list(struct.unpack(f"<{size // struct.calcsize(letter)}{letter}", tail[:size]))
            tail = tail[size:]
        if tail:
            raise ValueError(f"{len(tail)} bytes follow the last binary output")
        return head, values


def state_after(tokens):
    """What the model computes: a hash of all tokens in their order."""
    mask = (1 << 64) - 1
    state = 0
    for token in tokens:
        mixed = ((state ^ ((token + 0x9E3779B97F4A7C15) & mask)) * 0xBF58476D1CE4E5B9) & mask
        mixed ^= mixed >> 29
        mixed = (mixed * 0x94D049BB133111EB) & mask
        state = mixed ^ (mixed >> 32)
    return state


def bits(floats):
    return struct.pack(f"<{len(floats)}f", *floats)


def expect(found, wanted, what):
    if found != wanted:
        raise AssertionError(f"{what}: {found!r}, not {wanted!r}")


def expect_error(status, call, *arguments, **options):
    """The call fails with this status and a message; returns the error."""
    try:
        call(*arguments, **options)
    except ServerError as error:
        expect(error.status, status, f"status of {error.message!r}")
        if not error.message:
            raise AssertionError("an error without a message") from None
        return error
    raise AssertionError(f"no error {status}")


class Checks:
    def __init__(self, client, model, floats):
        self.client = client
        self.model = model
        self.floats = floats
        self.tokens = [12, 7, 301]

    def ask(self, tokens=None, **options):
        tokens = self.tokens if tokens is None else tokens
        return self.client.infer(self.model, {"tokens": ("INT32", [len(tokens)], tokens)}, **options)

    def check_health(self):
        expect(self.client.get("/v2/health/live"), {"live": True}, "live")
        expect(self.client.get("/v2/health/ready"), {"ready": True}, "ready")
        expect(self.client.get(f"/v2/models/{self.model}/ready"), {"name": self.model, "ready": True}, "model")
        self.client.call(f"/v2/models/{self.model}/versions/1/ready")
        self.client.call("/v2/health/ready", method="HEAD")
        expect_error(404, self.client.call, f"/v2/models/{self.model}/versions/9/ready")
        expect_error(404, self.client.call, "/v2/models/nobody/ready")

    def check_metadata(self):
        server = self.client.get("/v2")
        if not {"binary_tensor_data", "sequence", "statistics"} <= set(server["extensions"]):
            raise AssertionError(server)
        if not isinstance(server["name"], str) or not isinstance(server["version"], str):
            raise AssertionError(server)
        model = self.client.get(f"/v2/models/{self.model}")
        expect(model["name"], self.model, "name")
        expect(model["inputs"], [{"name": "tokens", "datatype": "INT32", "shape": [-1]}], "inputs")
        expect(model["outputs"], [{"name": "state", "datatype": "UINT64", "shape": []}], "outputs")
        expect((model["versions"], bool(model["platform"])), (["1"], True), "versions and platform")
        expect(self.client.get(f"/v2/models/{self.model}/versions/{model['versions'][-1]}"), model, "by version")

    def check_json(self):
        head, values = self.ask(request_id="a-1")
        expect(values, {"state": [state_after(self.tokens)]}, "values")
        expect((head["id"], head["model_name"], head["model_version"]), ("a-1", self.model, "1"), "head")
        expect(head["outputs"][0]["datatype"], "UINT64", "datatype")
        if "id" in self.ask()[0]:
            raise AssertionError("an id that was not given")

    def check_binary(self):
        wanted = {"state": [state_after(self.tokens)]}
        expect(self.ask(binary=True)[1], wanted, "binary inputs")
        expect(self.ask(outputs={"state": True})[1], wanted, "binary outputs")
        expect(self.ask(binary=True, outputs={"state": True}, version=1)[1], wanted, "both")
        head, values = self.ask(binary=True, parameters={"binary_data_output": True})
        expect(values, wanted, "all outputs binary")
        expect(head["outputs"][0]["parameters"]["binary_data_size"], 8, "size")
        head, values = self.ask(parameters={"binary_data_output": True}, outputs={"state": False})
        expect((values, head["outputs"][0]["data"]), (wanted, wanted["state"]), "an output's own wish")

    def check_floats(self):
        """An output is the same bits in both forms."""
        inputs = {"tokens": ("INT32", [3], self.tokens)}
        head, values = self.client.infer(self.floats, inputs)
        expect((head["outputs"][0]["datatype"], head["outputs"][0]["shape"]), ("FP32", [len(values["h"])]), "head")
        binary = self.client.infer(self.floats, inputs, binary=True, outputs={"h": True})[1]
        expect(bits(values["h"]), bits(binary["h"]), "bits")

    def check_parameters(self):
        for priority in range(4):
            self.ask(parameters={"priority": priority, "timeout": 60_000_000})
        expect_error(504, self.ask, [1] * 1000, parameters={"timeout": 1})

    def check_unknown_parameters(self):
        for parameters in ({"urgency": 1}, {"priority": "high"}, {"timeout": -1}, {"binary_data_output": "yes"}):
            expect_error(400, self.ask, parameters=parameters)

    def stream(self, model, name, sequence, tokens, start=False, end=False, **options):
        """One request of a sequence; the values of its one output, or nothing where there is none."""
        inputs = {"tokens": ("INT32", [len(tokens)], tokens)} if tokens else {}
        parameters = {"sequence_id": sequence, "sequence_start": start, "sequence_end": end}
        return self.client.infer(model, inputs, parameters=parameters, **options)[1].get(name)

    def check_sequences(self):
        for sequence in (41, "a stream"):
            sent = []
            for part, (start, end) in (([1, 2], (True, False)), ([3], (False, False)), ([4, 5], (False, True))):
                sent += part
                state = self.stream(self.model, "state", sequence, part, start, end)
                expect(state, [state_after(sent)], "a part")
            expect_error(410, self.stream, self.model, "state", sequence, [6])
        expect(self.stream(self.model, "state", 41, [7], start=True, end=True), [state_after([7])], "a whole one")

    def check_sequences_of_floats(self):
        """Two streams in turns, each the bits of one pass, in JSON and in binary."""
        streams = {51: [], 52: []}
        for i in range(6):
            for sequence, sent in streams.items():
                part = [(sequence * 31 + i * 7 + k) % 1000 for k in range(1 + i % 3)]
                sent += part
                binary = (i + sequence) % 2 == 0
                outputs = {"h": binary}
                h = self.stream(self.floats, "h", sequence, part, i == 0, i == 5, outputs=outputs, binary=binary)
                whole = self.client.infer(self.floats, {"tokens": ("INT32", [len(sent)], sent)}, outputs={"h": True})
                expect(bits(h), bits(whole[1]["h"]), f"part {i}")

    def check_sequences_that_go_wrong(self):
        stream = self.stream
        expect_error(410, stream, self.model, "state", 61, [1])
        stream(self.model, "state", 61, [1], start=True)
        expect_error(409, stream, self.model, "state", 61, [1], start=True)
        expect_error(400, stream, self.model, "state", 61, [2], outputs={"nothing": False})
        expect(stream(self.model, "state", 61, [2]), [state_after([1, 2])], "after an error")
        expect(stream(self.model, "state", 61, [], end=True), None, "an empty end")
        expect_error(410, stream, self.model, "state", 61, [3])
        expect_error(400, self.ask, parameters={"sequence_start": True})
        for bad in (-1, 1.5, True, "a" * 1000, "a\nb"):
            expect_error(400, self.ask, parameters={"sequence_id": bad, "sequence_start": True})

    def check_repeats(self):
        """Whoever gives each request an id of its own may send it again."""
        for _ in range(2):
            expect(self.stream(self.model, "state", 71, [1], True, request_id="a"), [state_after([1])], "start")
        for _ in range(3):
            expect(self.stream(self.model, "state", 71, [2], request_id="b"), [state_after([1, 2])], "part")
        expect_error(409, self.stream, self.model, "state", 71, [3], request_id="b")
        expect_error(409, self.stream, self.model, "state", 71, [9], request_id="a")
        for _ in range(2):
            expect(self.stream(self.model, "state", 71, [3], end=True, request_id="c"), [state_after([1, 2, 3])], "end")

    def check_lengths(self):
        for length in (1, 2, 63, 1000):
            tokens = [(31 * i) % 30000 for i in range(length)]
            expect(self.ask(tokens, binary=length % 2 == 0)[1]["state"], [state_after(tokens)], f"length {length}")

    def check_errors(self):
        good = {"tokens": ("INT32", [1], [1])}
        infer = self.client.infer
        expect_error(404, infer, "nobody", good)
        expect_error(404, infer, self.model, good, version=9)
        expect_error(400, infer, self.model, good, version="x")
        expect_error(404, self.client.get, "/v2/models/nobody")
        expect_error(404, self.client.get, "/v2/nothing")
        expect_error(405, self.client.get, f"/v2/models/{self.model}/infer")
        expect_error(405, self.client.call, "/v2/health/live", b"{}")
        expect_error(400, infer, self.model, {"words": ("INT32", [1], [1])})
        expect_error(400, infer, self.model, {"tokens": ("UINT64", [1], [1])})
        expect_error(400, infer, self.model, {"tokens": ("INT32", [2], [1])})
        expect_error(400, infer, self.model, {"tokens": ("INT32", [1, 1], [1])})
        expect_error(400, infer, self.model, {"tokens": ("INT32", [-1], [1])})
        expect_error(400, infer, self.model, {"tokens": ("INT32", [0], [])})
        expect_error(400, infer, self.model, good, outputs={"h": False})
        expect_error(400, infer, self.model, {"tokens": ("FP32", [1], [float("nan")])})
        expect_error(400, infer, self.model, {"tokens": ("INT32", [1 << 40], [1])})
        expect_error(400, infer, self.model, {"tokens": ("INT32", [1 << 62], [1])})
        expect_error(400, infer, self.model, {"tokens": ("INT32", [], [1])})
        expect_error(400, infer, self.model, {"tokens": ("BYTES", [1], [1])})
        expect_error(400, infer, self.model, {})
        expect_error(400, infer, self.floats, {"tokens": ("INT32", [1], [-1])})
        expect_error(400, infer, self.floats, {"tokens": ("INT32", [1], [1 << 30])})
        expect_error(404, infer, "a/b", good)
        expect_error(404, infer, "%00", good)

    def check_bad_contents(self):
        path = f"/v2/models/{self.model}/infer"
        for content in (b"", b"{", b"\xff\xfe", b"[" * 100_000, b"{}", b"null", b'{"inputs": [{}]}', bytes(range(256))):
            expect_error(400, self.client.call, path, content)
        for length in ("x", "-1", "1000000", "0", ""):
            expect_error(400, self.client.call, path, b"{}", {JSON_LENGTH: length})
        expect_error(415, self.client.call, path, b"{}", {"Content-Encoding": "gzip"})

    def check_pieces(self):
        """Chunked transfer encoding, which urllib uses for contents whose length it does not know."""
        request = {"inputs": [{"name": "tokens", "datatype": "INT32", "shape": [3], "data": self.tokens}]}
        text = json.dumps(request).encode()
        pieces = iter([text[:10], text[10:11], text[11:]])
        answer = self.client.call(f"/v2/models/{self.model}/infer", pieces, {"Content-Type": "application/json"})
        expect(self.client.read_answer(*answer)[1]["state"], [state_after(self.tokens)], "values")

    def check_many_at_once(self):
        wrong = []

        def work(worker):
            for i in range(25):
                tokens = [worker, i, worker * i]
                if self.ask(tokens, binary=i % 2 == 0)[1]["state"] != [state_after(tokens)]:
                    wrong.append(tokens)

        workers = [threading.Thread(target=work, args=(worker,)) for worker in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        expect(wrong, [], "wrong answers")

    def check_statistics(self):
        path = f"/v2/models/{self.model}/versions/1/stats"
        expect_error(404, self.client.get, f"/v2/models/{self.model}/versions/2/stats")
        before = self.client.get(path)["model_stats"][0]
        for _ in range(3):
            self.ask()
        after = self.client.get(f"/v2/models/{self.model}/stats")["model_stats"][0]
        expect((after["name"], after["version"]), (self.model, "1"), "name and version")
        expect(after["inference_count"] - before["inference_count"], 3, "inferences")
        spent = after["inference_stats"]["success"]
        if spent["count"] < 3 or spent["ns"] <= 0 or after["execution_count"] <= 0 or after["last_inference"] <= 0:
            raise AssertionError(after)
        for part in ("fail", "queue", "compute_input", "compute_infer", "compute_output"):
            expect(set(after["inference_stats"][part]), {"count", "ns"}, part)


def main(url, model, floats):
    checks = Checks(Client(url), model, floats)
    failed = 0
    for name in [name for name in dir(checks) if name.startswith("check_")]:
        try:
            getattr(checks, name)()
            print(f"ok {name}")
        except Exception as error:  # whatever is wrong, the other checks run
            failed += 1
            print(f"FAILED {name}: {type(error).__name__}: {error}")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
