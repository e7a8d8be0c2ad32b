"""`volvox trace` of real servers, a router and a node.

Usage: trace_test.py VOLVOX [unittest's options]      VOLVOX: the executable
"""

import copy
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import trace_events

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "protocol" / "python")]

from served import PATIENCE, Server  # noqa: E402
from volvox_client import Client, Part  # noqa: E402

VOLVOX = sys.argv.pop(1)
TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
# Tasks of 1 ms, so that requests meet in them.
TIMED = '[device]\nkind = "timed"\ntimed_task_us = 1000.0\ntimed_row_us = 0.0\n'


def ask(path, **command):
    """What the admin socket at `path` answers."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(PATIENCE)
        peer.connect(str(path))
        peer.sendall(json.dumps(command).encode() + b"\n")
        return json.loads(peer.makefile().readline())


def read_trace(path, number):
    """The events of a trace, as soon as its time is over, and how often it was still running."""
    events, start, running = [], 0, 0
    while start is not None:
        said = ask(path, command="trace.read", trace=number, **{"from": start})
        if said.get("running"):
            running += 1
            time.sleep(0.02)
            continue
        if not said["ok"]:
            raise AssertionError(said)
        events += said["events"]
        start = said.get("next")
    return events, running


def document(events):
    """The trace that `volvox trace` makes of them."""
    return {"displayTimeUnit": "ms", "otherData": {}, "traceEvents": events}


def infer(url, tokens, **headers):
    """A request over HTTP; its answer's headers."""
    body = {"inputs": [{"name": "tokens", "datatype": "INT32", "shape": [len(tokens)], "data": tokens}]}
    request = urllib.request.Request(url + "/v2/models/m/infer", json.dumps(body).encode(), {"Content-Type": "application/json", **headers})
    return urllib.request.urlopen(request, timeout=PATIENCE).headers


def is_answered(url):
    """Whether there is a node that takes requests already."""
    try:
        infer(url, [1])
    except urllib.error.HTTPError as error:
        if error.code != 503:
            raise
        return False
    return True


def requests_of(events):
    return [event["args"] for event in trace_events.of(events, "b", "request") if "args" in event]


def clocks(tasks):
    return {event["args"]["clock"] for event in tasks}


class OneServer(unittest.TestCase):
    def start(self, config=""):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.admin = pathlib.Path(scratch.name) / "admin"
        options = ["--admin", str(self.admin)]
        server = Server(VOLVOX, scratch.name, (("check", "m"),), config=config, http="127.0.0.1:0", options=options)
        self.addCleanup(server.kill)
        return server

    def load(self, server, *options):
        command = [VOLVOX, "load", "--connect", server.endpoint, "--model", "m", "--vocabulary", "1000", "--warmup", "0"]
        return subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def cells(self, server):
        return sum(value for name, value in server.values().items() if name.startswith("volvox_cells_total"))

    def test_tasks_add_up_to_the_cells_that_the_server_counts(self):
        for config in ("", TIMED):
            server = self.start(config)
            # A slow machine is given a longer window, until all of the load fits in.
            for seconds in (2, 8, 30):
                before = self.cells(server)
                number = ask(self.admin, command="trace.start", seconds=seconds)["trace"]
                self.assertEqual(self.load(server, "--concurrency", "24", "--requests", "200", "--length", "9").wait(PATIENCE), 0)
                events, running = read_trace(self.admin, number)
                if running > 0:
                    break
            self.assertGreater(running, 0, "no window was long enough")
            tasks = trace_events.of(events, "X", "task")
            self.assertEqual(sum(task["args"]["rows"] for task in tasks), self.cells(server) - before)
            self.assertEqual(sum(task["args"]["rows"] for task in tasks), 200 * 9)
            self.assertEqual([request["outcome"] for request in requests_of(events)], ["ok"] * 200)
            self.assertEqual({request["cells"] for request in requests_of(events)}, {9})
            self.assertEqual({task["args"]["clock"] for task in tasks}, {"worker" if config else "queue"})
            trace = document(events)
            self.assertEqual(trace_events.complaints(trace), [])
            self.assertEqual(trace_events.rows_that_nobody_fills(events), [])
            self.assertGreater(max(task["args"]["rows"] for task in tasks), 1)
            parts = [event["name"] for event in trace_events.of(events, "b", "request") if "args" not in event]
            self.assertEqual({part: parts.count(part) for part in set(parts)}, dict.fromkeys(("edge", "queue", "compute", "reply"), 200))
            self.assertEqual(len(trace_events.of(events, "s")), 200)

    def test_what_was_asked_can_be_recorded_and_asked_again(self):
        server = self.start()
        lines = []
        # A slow machine is given more time to start what it records.
        for seconds in (3, 12, 40):
            recorder = subprocess.Popen([VOLVOX, "record", "--seconds", str(seconds), "--admin", str(self.admin)], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
            while self.load(server, "--concurrency", "1", "--requests", "1", "--length", "3").wait(PATIENCE) == 0 and recorder.poll() is None:
                for length in (7, 5):
                    self.load(server, "--concurrency", "2", "--requests", "4", "--length", str(length)).wait(PATIENCE)
            out, err = recorder.communicate(timeout=PATIENCE)
            self.assertEqual(recorder.returncode, 0, err)
            self.assertIn("requests", err)
            lines = out.splitlines()
            if len(lines) > 9:
                break
        self.assertEqual(lines[0], "at_s,model,size")
        times, models, sizes = zip(*(line.split(",") for line in lines[1:]))
        self.assertEqual(sorted(map(float, times)), list(map(float, times)))
        self.assertLess(float(times[-1]), seconds)
        self.assertEqual(set(models), {"m"})
        self.assertEqual(set(sizes), {"3", "5", "7"})
        workload = self.admin.parent / "again.toml"
        (workload.parent / "again.csv").write_text(out, encoding="utf-8")
        workload.write_text('[arrivals]\nkind = "trace"\nfile = "again.csv"\n[[request]]\nmodel = "m"\nvocabulary = 100\n', encoding="utf-8")
        report = workload.parent / "again.json"
        before = self.cells(server)
        subprocess.run([VOLVOX, "load", "--connect", server.endpoint, "--workload", str(workload), "--json", str(report), "--require-all"],
                       check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE)
        self.assertEqual(json.loads(report.read_text(encoding="utf-8"))["completed"], len(sizes))
        self.assertEqual(self.cells(server) - before, sum(map(int, sizes)))

    def test_the_checks_find_what_is_wrong(self):
        server = self.start()
        number = ask(self.admin, command="trace.start", seconds=2)["trace"]
        infer(server.http, [1, 2, 3])
        events, _ = read_trace(self.admin, number)
        good = document(events)
        self.assertEqual(trace_events.complaints(good), [])

        def spoilt(change):
            bad = copy.deepcopy(good)
            change(bad["traceEvents"])
            return trace_events.complaints(bad)

        for phase in "Mbesf":
            where = next(i for i, event in enumerate(events) if event["ph"] == phase)
            self.assertNotEqual(spoilt(lambda list, at=where: list.pop(at) and phase == "M" and list.pop(at)), [], phase)
        task = next(i for i, event in enumerate(events) if event.get("cat") == "task")
        self.assertNotEqual(spoilt(lambda list: list[task].update(dur=-1)), [])
        self.assertNotEqual(spoilt(lambda list: list[task].pop("ts")), [])
        self.assertNotEqual(spoilt(lambda list: list[task].update(extra=1)), [])
        self.assertNotEqual(spoilt(lambda list: list.insert(task, dict(list[task], ts=list[task]["ts"] + 5.0))), [])
        fewer = copy.deepcopy(events)
        fewer[task]["args"]["joined"] = []
        self.assertNotEqual(trace_events.rows_that_nobody_fills(fewer), [])

    def test_the_command_writes_a_file_under_load(self):
        server = self.start()
        load = self.load(server, "--rate", "2000", "--seconds", "600")
        self.addCleanup(load.wait)
        self.addCleanup(load.kill)
        until = time.monotonic() + PATIENCE
        while self.cells(server) == 0 and time.monotonic() < until:
            time.sleep(0.02)
        out = self.admin.parent / "trace.json"
        done = subprocess.run([VOLVOX, "trace", "--admin", str(self.admin), "--seconds", "1", "--output", str(out)],
                              capture_output=True, text=True, timeout=PATIENCE, check=False)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        trace = json.loads(out.read_text())
        self.assertEqual(trace_events.complaints(trace), [])
        tasks = trace_events.of(trace["traceEvents"], "X", "task")
        self.assertEqual(clocks(tasks), {"queue"})
        said = f"{len(requests_of(trace['traceEvents']))} requests, {len(tasks)} tasks, {trace['otherData']['lost']} records lost"
        self.assertEqual(done.stderr.strip(), said)
        self.assertGreater(len(tasks), 0)

    def test_tasks_that_end_as_a_trace_begins_overlap_no_other(self):
        server = self.start()
        load = self.load(server, "--concurrency", "64", "--seconds", "600")
        self.addCleanup(load.wait)
        self.addCleanup(load.kill)
        tasks = 0
        for _ in range(40):
            number = ask(self.admin, command="trace.start", seconds=0.02)["trace"]
            events, _ = read_trace(self.admin, number)
            self.assertEqual(trace_events.complaints(document(events)), [])
            ended = trace_events.of(events, "X", "task")
            self.assertLessEqual(clocks(ended), {"queue"})
            tasks += len(ended)
        self.assertGreater(tasks, 0)

    def test_what_finds_no_room_is_counted(self):
        server = self.start("[tracing]\ncapture_mib = 1\n")
        out = self.admin.parent / "trace.json"
        load = self.load(server, "--concurrency", "64", "--length", "40", "--seconds", "600", "--connections", "2")
        self.addCleanup(load.wait)
        self.addCleanup(load.kill)
        for seconds in ("1", "4", "16"):
            command = [VOLVOX, "trace", "--admin", str(self.admin), "--seconds", seconds, "--output", str(out)]
            subprocess.run(command, check=True, timeout=PATIENCE, stderr=subprocess.DEVNULL)
            trace = json.loads(out.read_text())
            if trace["otherData"]["lost"] > 0:
                break
        self.assertEqual(trace_events.complaints(trace), [])
        self.assertGreater(trace["otherData"]["lost"], 0)
        self.assertGreaterEqual(server.values()["volvox_trace_records_lost_total"], trace["otherData"]["lost"])

    def test_bad_commands_are_answered(self):
        self.start("[tracing]\ncapture_seconds = 30\n")
        for seconds in (0, -1, 31, "1", None, [], True):
            said = ask(self.admin, command="trace.start", seconds=seconds)
            self.assertEqual(said["error"]["code"], "INVALID_ARGUMENT", seconds)
        self.assertEqual(ask(self.admin, command="trace.start")["error"]["code"], "INVALID_ARGUMENT")
        for trace, start in ((1, 0), (0, 0), ("1", 0), (-1, 0), (None, None)):
            said = ask(self.admin, command="trace.read", trace=trace, **{"from": start})
            self.assertEqual(said["error"]["code"], "INVALID_ARGUMENT", (trace, start))
        number = ask(self.admin, command="trace.start", seconds=1)["trace"]
        self.assertEqual(ask(self.admin, command="trace.start", seconds=1)["error"]["code"], "OVERLOADED")
        self.assertEqual(requests_of(read_trace(self.admin, number)[0]), [])
        self.assertTrue(ask(self.admin, command="trace.start", seconds=1)["ok"])

    def test_the_callers_trace_is_taken_and_passed_on(self):
        server = self.start()
        self.assertNotIn("traceparent", infer(server.http, [1]), "nobody watches")
        number = ask(self.admin, command="trace.start", seconds=2)["trace"]
        told = infer(server.http, [1, 2], traceparent=f"00-{TRACE}-{CALLER}-01")["traceparent"].split("-")
        self.assertEqual((told[0], told[1], told[3]), ("00", TRACE, "01"))
        for bad in ("", "00", f"00-{TRACE}-{CALLER}", f"00-{TRACE.upper()}-{CALLER}-01", f"ff-{TRACE}-{CALLER}-01", "0" * 4000):
            self.assertNotIn(TRACE, infer(server.http, [1, 2], traceparent=bad)["traceparent"])
        mine, *others = requests_of(read_trace(self.admin, number)[0])
        self.assertEqual((mine["trace"], mine["parent"], mine["span"], mine["door"]), (TRACE, CALLER, told[2], "http"))
        self.assertEqual(len({other["trace"] for other in others}), 6)
        self.assertTrue(all("parent" not in other for other in others))

    def test_the_python_clients_span_is_the_parent(self):
        server = self.start()
        number = ask(self.admin, command="trace.start", seconds=2)["trace"]
        with Client(server.endpoint) as client:
            client.infer("m", {"tokens": [1, 2]}, trace=f"00-{TRACE}-{CALLER}-01")
            for pending in client.submit_bundle("m", [Part(None, {"tokens": [3]})], trace=f"00-{TRACE}-{CALLER}-00"):
                pending.result()
            client.infer("m", {"tokens": [4]}, trace=int(TRACE, 16))
        told = [(one["trace"], one.get("parent"), one["door"]) for one in requests_of(read_trace(self.admin, number)[0])]
        self.assertEqual(told, [(TRACE, CALLER, "zeromq"), (TRACE, CALLER, "zeromq"), (TRACE, None, "zeromq")])


class ACluster(unittest.TestCase):
    def test_router_and_node_have_spans_of_one_trace(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        folder = pathlib.Path(scratch.name)
        subprocess.run([VOLVOX, "models", "new", "check", str(folder / "models" / "m")], check=True, stdout=subprocess.DEVNULL)
        listen = ["--listen", "tcp://127.0.0.1:0", "--metrics", "", "--admin"]
        ports = ["--cluster-listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--port-file", str(folder / "ports")]
        self.run_process(folder, "router", *listen, str(folder / "router"), *ports)
        self.wait_until(folder, lambda: (folder / "ports").exists())
        _, dial, url = (folder / "ports").read_text().split()
        where = ["--routers", dial, "--http", "", "--name", "worker-1", "--models", str(folder / "models")]
        self.run_process(folder, "node", *listen, str(folder / "node"), *where)
        self.wait_until(folder, lambda: is_answered(url))
        numbers = {name: ask(folder / name, command="trace.start", seconds=2)["trace"] for name in ("router", "node")}
        told = infer(url, [1, 2, 3], traceparent=f"00-{TRACE}-{CALLER}-00")["traceparent"].split("-")
        traces = {name: read_trace(folder / name, number)[0] for name, number in numbers.items()}
        for name, events in traces.items():
            trace = document(events)
            self.assertEqual(trace_events.complaints(trace), [], name)
        (router,), (node,) = requests_of(traces["router"]), requests_of(traces["node"])
        self.assertEqual((router["trace"], node["trace"]), (TRACE, TRACE))
        self.assertEqual((router["parent"], router["span"], node["parent"]), (CALLER, told[2], told[2]))
        self.assertEqual((router["door"], node["door"]), ("http", "cluster"))
        self.assertEqual((router["node"], router["attempts"]), ("worker-1", 1))
        names = [event["name"] for event in trace_events.of(traces["router"], "b", "request")]
        self.assertEqual(names[1:], ["placement", "node", "reply"])
        self.assertEqual(trace_events.rows_that_nobody_fills(traces["node"]), [])
        self.assertEqual(len(trace_events.of(traces["node"], "X", "task")), 3)

    def run_process(self, folder, kind, *options):
        with open(folder / f"{kind}.log", "wb") as log:
            process = subprocess.Popen([VOLVOX, kind, *options], stdout=log, stderr=log)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

    def wait_until(self, folder, condition):
        until = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > until:
                self.fail("".join(path.read_text() for path in folder.glob("*.log")))
            time.sleep(0.02)


if __name__ == "__main__":
    unittest.main()
