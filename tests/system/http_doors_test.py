"""What strangers can do at the doors for HTTP and monitoring of a real server: little.

Usage: http_doors_test.py VOLVOX [unittest's options]      VOLVOX: the executable
"""

import http.client
import json
import os
import pathlib
import resource
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from served import PATIENCE, Server, cpu_s_of  # noqa: E402

VOLVOX = sys.argv.pop(1)
SOON = 1.0  # seconds: what orchestrators give a probe
JSON = {"Content-Type": "application/json"}
HALF = b"POST /v2/models/m/infer HTTP/1.1\r\nHost: localhost\r\n"


def part(flag):
    tokens = {"name": "tokens", "datatype": "INT32", "shape": [1], "data": [3]}
    return json.dumps({"parameters": {"sequence_id": 7, flag: True}, "inputs": [tokens]})


def refused_start(*options, config=""):
    """What the server says as it does not start."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "serve.toml"
        file.write_text(config, encoding="utf-8")
        command = [VOLVOX, "serve", "--config", str(file), "--models", folder, *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        return done.returncode, done.stderr


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


class Doors(unittest.TestCase):
    def start(self, config="", http="127.0.0.1:0", **settings):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.server = Server(VOLVOX, scratch.name, (("check", "m"),), config=config, http=http, **settings)
        self.addCleanup(self.server.kill)
        return self.server

    def ask(self, url, path, method="GET", body=None, headers=None):
        """The status and the content of an answer."""
        connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=PATIENCE)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def infer(self, body, headers):
        return self.ask(self.server.http, "/v2/models/m/infer", "POST", body, headers)[0]

    def strangers(self, url, count, data):
        host, port = url.removeprefix("http://").split(":")
        for _ in range(count):
            stranger = socket.create_connection((host, int(port)), timeout=PATIENCE)
            self.addCleanup(stranger.close)
            if data:
                stranger.sendall(data)

    def assert_soon(self, url, path):
        start = time.monotonic()
        self.assertEqual(self.ask(url, path)[0], 200)
        self.assertLess(time.monotonic() - start, SOON)

    def test_a_page_in_a_browser_ends_nobodys_sequence(self):
        self.start()
        self.assertEqual(self.infer(part("sequence_start"), JSON), 200)
        page = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
        self.assertEqual(self.infer(part("sequence_end"), {**page, "Content-Type": "text/plain"}), 403, "a form")
        self.assertEqual(self.infer(part("sequence_end"), {**page, **JSON}), 403, "a fetch")
        self.assertEqual(self.infer(part("sequence_end"), {"Content-Type": "text/plain"}), 415, "an old browser's form")
        self.assertEqual(self.infer(part("sequence_end"), {**JSON, "Host": "evil.example"}), 403, "a rebound name")
        self.assertEqual(self.infer(part("sequence_end"), JSON), 200, "it was still there")

    def test_a_rebound_name_reads_nothing(self):
        server = self.start()
        for url, path in ((server.http, "/v2/models/m"), (server.metrics, "/metrics"), (server.metrics, "/healthz")):
            self.assertEqual(self.ask(url, path, headers={"Host": "evil.example"})[0], 403, path)
            self.assertEqual(self.ask(url, path)[0], 200, path)

    def test_half_requests_delay_no_probe(self):
        server = self.start()
        self.strangers(server.http, 60, HALF)
        self.strangers(server.metrics, 30, b"GET /healthz HTTP/1.1\r\n")
        for _ in range(3):
            self.assert_soon(server.metrics, "/healthz")
            self.assert_soon(server.metrics, "/readyz")
            self.assert_soon(server.http, "/v2/health/ready")
        self.assertEqual(self.infer(part("sequence_start"), JSON), 200)

    def test_announced_uploads_hold_no_memory(self):
        self.start()
        head = HALF + b"Content-Type: application/json\r\n"
        self.strangers(self.server.http, 8, head + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n")
        self.strangers(self.server.http, 4, head + b"Content-Length: 1973790\r\n\r\n{")
        until = time.monotonic() + PATIENCE
        while self.server.values()["volvox_http_requests_in_progress"] < 12 and time.monotonic() < until:
            time.sleep(0.01)
        self.assertEqual(self.infer(part("sequence_start"), JSON), 200)

    # UBSan asks the kernel through a pipe whether an object can be read, and takes it for a bad one when there is no
    # descriptor for that.
    @unittest.skipIf(b"__ubsan_handle" in pathlib.Path(VOLVOX).read_bytes(), "UBSan needs descriptors")
    def test_probes_are_answered_where_no_descriptors_are_left(self):
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        server = self.start()
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (128, before[1]))
        self.strangers(server.http, 200, HALF)
        self.strangers(server.metrics, 60, b"")
        ticks = cpu_s_of(self.server.process.pid)
        start = time.monotonic()
        for _ in range(5):
            self.assert_soon(server.metrics, "/healthz")
            self.assertEqual(self.infer(json.dumps({"inputs": json.loads(part("x"))["inputs"]}), JSON), 200)
            time.sleep(0.3)  # what it does in idle moments is measured
        self.assertLess(time.monotonic() - start, 8)
        self.assertLess(cpu_s_of(self.server.process.pid) - ticks, 0.1 * (time.monotonic() - start))

    def test_nothing_opens_beyond_loopback_by_itself(self):
        for option, value in (
            ("--listen", "tcp://0.0.0.0:0"),
            ("--listen", "tcp://127.evil.example:0"),
            ("--http", "0.0.0.0:0"),
            ("--metrics", "[::]:0"),
        ):
            status, said = refused_start(option, value)
            self.assertEqual(status, 1)
            self.assertIn("is reached from beyond loopback", said)
        status, said = refused_start(config='[server]\nprobes = "0.0.0.0:0"\n')
        self.assertIn("probes_insecure = true", said)

    def test_sockets_of_the_file_system(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = {name: f"{folder}/{name}" for name in ("http", "metrics", "probes")}
            config = f'[server]\nprobes = "unix:{paths["probes"]}"\n'
            server = self.start(config, http=f"unix:{paths['http']}", metrics=f"unix:{paths['metrics']}")
            self.assertEqual((server.http, server.metrics), (f"unix:{paths['http']}", f"unix:{paths['metrics']}"))
            for name, path in (("http", "/v2/models/m"), ("metrics", "/metrics"), ("probes", "/readyz")):
                self.assertEqual(stat.S_IMODE(os.stat(paths[name]).st_mode), 0o600)
                connection = UnixConnection(paths[name])
                connection.request("GET", path)
                self.assertEqual(connection.getresponse().status, 200, name)
                connection.close()
            server.stop()
            self.assertEqual(os.listdir(folder), [])


if __name__ == "__main__":
    unittest.main()
