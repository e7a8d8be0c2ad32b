"""HTTP at a router: the protocol's client, and nodes that are killed meanwhile.

Usage: cluster_http_test.py VOLVOX [unittest's options]      VOLVOX: the executable
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

import v2_client
from disturbed_streams import run_streams
from v2_client import Client, ServerError, state_after

PATIENCE = 60.0
VOLVOX = sys.argv.pop(1)


class Cluster(unittest.TestCase):
    """A router and nodes named a, b, … as processes of their own."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.processes = {}
        self.addCleanup(self.kill_all)
        for kind, name in (("check", "m"), ("lstm", "floats")):
            command = [VOLVOX, "models", "new", kind, str(self.folder / "models" / name)]
            command += ["--hidden", "8", "--vocabulary", "1000"] if kind == "lstm" else []
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        listen = ["--listen", "tcp://127.0.0.1:0", "--cluster-listen", "127.0.0.1:0"]
        pages = ["--metrics", "127.0.0.1:0", "--http", "127.0.0.1:0", "--port-file", str(self.folder / "ports")]
        self.start("router", ["router", *listen, *pages])
        self.wait_until("the router listens", lambda: (self.folder / "ports").exists())
        _, self.metrics, self.dial, self.url = (self.folder / "ports").read_text().split()
        self.client = Client(self.url)

    def start(self, name, arguments):
        with open(self.folder / f"{name}.log", "wb") as log:
            self.processes[name] = subprocess.Popen([VOLVOX, *arguments], stdout=log, stderr=log)

    def start_nodes(self, *names):
        # A task takes 2 ms, so that requests are under way for a while.
        config = self.folder / "node.toml"
        config.write_text('[device]\nkind = "timed"\ntimed_task_us = 2000.0\ntimed_row_us = 0.0\n')
        for name in names:
            models = ["--config", str(config), "--models", str(self.folder / "models")]
            where = ["--routers", self.dial, "--listen", "tcp://127.0.0.1:0", "--metrics", "", "--http", ""]
            self.start(name, ["node", "--name", name, *models, *where, "--admin", ""])
        self.wait_until("the nodes joined", lambda: self.metric("volvox_cluster_members") == len(names))

    def kill_all(self):
        for process in self.processes.values():
            process.kill()
            process.wait()

    def metric(self, name):
        page = urllib.request.urlopen(self.metrics + "/metrics", timeout=PATIENCE).read().decode()
        found = re.search(rf"^{name} (\S+)$", page, re.MULTILINE)
        return float(found[1]) if found else None

    def wait_until(self, what, condition):
        until = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > until:
                self.fail(what + "\n" + "".join(path.read_text() for path in self.folder.glob("*.log")))
            time.sleep(0.02)

    def ask(self, tokens, **options):
        return self.client.infer("m", {"tokens": ("INT32", [len(tokens)], tokens)}, **options)[1]["state"]

    def nobody_is_not_found(self):
        try:
            self.client.get("/v2/models/nobody")
        except ServerError as error:
            return error.status == 404
        return False

    def test_the_protocols_client_finds_what_it_finds_at_a_server(self):
        self.start_nodes("a", "b")
        self.wait_until("the router knows its nodes", self.nobody_is_not_found)
        checks = v2_client.Checks(self.client, "m", "floats")
        names = [name for name in dir(checks) if name.startswith("check_") and name != "check_statistics"]
        self.assertGreater(len(names), 10)
        for name in names:
            with self.subTest(name):
                getattr(checks, name)()

    def test_statistics_are_those_of_this_router(self):
        self.start_nodes("a", "b")
        for _ in range(5):
            self.ask([1, 2])
        self.client.infer("m", {"tokens": ("INT32", [1], [1])}, version=1)
        model = self.client.get("/v2/models/m/stats")["model_stats"][0]
        self.assertEqual((model["name"], model["version"], model["inference_count"]), ("m", "1", 6))
        success = model["inference_stats"]["success"]
        self.assertEqual(success["count"], 6)
        self.assertGreater(success["ns"], 6 * 2_000_000)

    def test_without_nodes_there_are_no_models(self):
        for path in ("/v2/models/m", "/v2/models/m/ready", "/v2/models/m/stats"):
            v2_client.expect_error(503, self.client.get, path)
        v2_client.expect_error(503, self.ask, [1])
        self.client.call("/v2/health/live")
        self.start_nodes("a")
        self.assertEqual(self.ask([1]), [state_after([1])])

    def test_a_node_that_is_killed_is_not_missed(self):
        self.start_nodes("a", "b")
        answered, failures, done = [], [], threading.Event()

        def work(worker):
            try:
                while not done.is_set():
                    tokens = [worker, len(answered)] * 8
                    v2_client.expect(self.ask(tokens), [state_after(tokens)], "state")
                    answered.append(worker)
            except (ServerError, OSError, AssertionError) as error:
                failures.append(error)

        workers = [threading.Thread(target=work, args=(worker,)) for worker in range(6)]
        for worker in workers:
            worker.start()
        self.wait_until("requests are answered", lambda: len(answered) > 50)
        self.processes["a"].kill()
        self.wait_until("the node is dead", lambda: self.metric("volvox_cluster_members") == 1)
        before = len(answered)
        self.wait_until("the other node answers", lambda: len(answered) > before + 50 or failures)
        done.set()
        for worker in workers:
            worker.join(PATIENCE)
        self.assertEqual(failures, [])
        self.assertEqual(self.client.get("/v2/models/m")["versions"], ["1"])
        self.processes["b"].kill()
        self.wait_until("nobody is left", lambda: self.metric("volvox_cluster_members") == 0)
        v2_client.expect_error(503, self.client.get, "/v2/models/m")

    def test_disturbed_streams_are_answered_rightly(self):
        self.start_nodes("a", "b")
        self.assertEqual(run_streams(self.client, "m", streams=2), [])

    def part(self, tokens, request_id, **parameters):
        return self.ask(tokens, request_id=request_id, parameters={"sequence_id": 5, **parameters})

    def test_after_an_error_that_its_home_decided_something_else_goes_on(self):
        """The router waits for the word of the part's home, which has left no trace of it."""
        self.start_nodes("a")
        self.assertEqual(self.part([1], "a", sequence_start=True), [state_after([1])])
        long = [2] * 50
        v2_client.expect_error(504, self.part, long, "b", timeout=20_000)
        self.assertEqual(self.part(long, "b"), [state_after([1] + long)])
        self.assertEqual(self.part([3], "c"), [state_after([1] + long + [3])])
        error = v2_client.expect_error(504, self.part, long, "d", timeout=20_000)
        self.assertIsNone(error.headers["Volvox-Undecided"])
        self.assertEqual(self.part([4], "e"), [state_after([1] + long + [3, 4])])

    def test_a_sequence_whose_node_dies_goes_on_rightly_or_says_so(self):
        self.start_nodes("a", "b")
        streams = {sequence: [] for sequence in range(1, 21)}
        for sequence, sent in streams.items():
            sent.append(sequence)
            self.ask([sequence], parameters={"sequence_id": sequence, "sequence_start": True})
        self.processes["a"].kill()
        self.wait_until("the node is dead", lambda: self.metric("volvox_cluster_members") == 1)
        went_on = 0
        for sequence, sent in streams.items():
            try:
                state = self.ask([7], parameters={"sequence_id": sequence})
            except ServerError as error:
                self.assertEqual((error.status, error.headers["Volvox-Error"]), (410, "SESSION_LOST"))
                continue
            self.assertEqual(state, [state_after(sent + [7])])
            went_on += 1
        self.assertGreater(went_on, 0)
        # Whatever became of them, each name can be used again.
        for sequence in streams:
            try:
                self.client.infer("m", {}, parameters={"sequence_id": sequence, "sequence_end": True})
            except ServerError as error:
                self.assertEqual(error.status, 410)
            start = {"sequence_id": sequence, "sequence_start": True}
            self.assertEqual(self.ask([3], parameters=start), [state_after([3])])


if __name__ == "__main__":
    unittest.main()
