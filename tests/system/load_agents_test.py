"""A load from three agents on a cluster of two routers and two nodes: on loopback, and each in a network namespace of its own.

Usage: load_agents_test.py VOLVOX SANITIZERS [unittest's options]
SANITIZERS: "sanitizers:" and those that the executable was built with.
Network namespaces need root; without, those tests are skipped, and the status is 77.
"""

import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/measure"))

import loud  # noqa: E402
from cluster_figures import percentile  # noqa: E402
from cluster_processes import Cluster, Loopback, Namespaces, Unfit  # noqa: E402

VOLVOX, SANITIZERS = sys.argv.pop(1), sys.argv.pop(1).removeprefix("sanitizers:")
PATIENCE = 90
AGENTS = 3
SHIFT_S = 5000  # of the clock of the last agent
PARTIAL = 3  # the status of a load of which something is missing
# Sanitizers stop a process for seconds, to look up names: its node is not dead for that. And they take its speed.
SLOW = 6 if SANITIZERS else 1
PATIENT = "[cluster]\nsuspect_ms = 15000\ndead_ms = 20000\n" if SANITIZERS else ""
CONFIG = PATIENT + '[admin]\nsocket = ""\n[device]\nkind = "timed"\ntimed_task_us = 500.0\ntimed_row_us = 0.0\n'


def time_namespaces():
    """Whether a process can be given a clock that is ahead of this one's."""
    command = ["unshare", "--time", "--monotonic", "1", "--fork", "true"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


class Agent:
    def __init__(self, folder, host, targets, name, keys, shift_s=0):
        self.log = folder / f"{name}.log"
        clock = ["unshare", "--time", "--monotonic", str(shift_s), "--fork", "--kill-child"] if shift_s else []
        self.address = f"{host.address}:{host.port()}"
        command = [*host.prefix, *clock, VOLVOX, "load-agent", "--listen", self.address]
        for target in targets:
            command += ["--target", target]
        if keys:
            command += ["--agent-key", str(keys / "server.key_secret"), "--coordinators", str(keys / "clients")]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)

    def said(self, words, count=1):
        return self.log.read_text(encoding="utf-8").count(words) >= count

    def kill(self):
        self.process.kill()
        self.process.wait()


class World:
    """The cluster and its agents; `shifted`: the last agent's clock is ahead."""

    def __init__(self, test, network, shifted):
        self.test = test
        self.folder = pathlib.Path(test.enterContext(tempfile.TemporaryDirectory()))
        self.cluster = Cluster(VOLVOX, self.folder / "cluster", network, CONFIG, routers=2, nodes=2)
        test.addCleanup(self.cluster.end)
        for name in ("m", "n"):
            self.cluster.new_model("check", name)
        self.cluster.start()
        self.endpoint = ",".join(router.endpoint for router in self.cluster.routers)
        self.keys = None
        if not isinstance(network, Loopback):
            self.keys = self.folder / "keys"
            command = [VOLVOX, "keys", str(self.keys), "--client", "coordinator"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        self.coordinator = network.host("c0")
        self.agents = []
        for i in range(AGENTS):
            shift_s = SHIFT_S if shifted and i == AGENTS - 1 else 0
            targets = [router.endpoint for router in self.cluster.routers]
            self.agents.append(Agent(self.folder, network.host(f"a{i}"), targets, f"a{i}", self.keys, shift_s))
            test.addCleanup(self.agents[-1].kill)
        self.wait_until("the agents listen", lambda: all(agent.said("ready: ") for agent in self.agents))

    def wait_until(self, what, condition):
        until = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > until:
                self.test.fail(what + "\n" + "".join(agent.log.read_text() for agent in self.agents) + self.cluster.last_words())
            time.sleep(0.02)

    def start(self, *options):
        """A coordinator, with its words on a pipe."""
        self.report = self.folder / "report.json"
        self.report.unlink(missing_ok=True)
        command = [*self.coordinator.prefix, VOLVOX, "load", "--connect", self.endpoint, "--json", str(self.report), "--progress"]
        command += ["--agents", ",".join(agent.address for agent in self.agents), *map(str, options)]
        if self.keys:
            command += ["--agent-key", str(self.keys / "server.key")]
            command += ["--coordinator-key", str(self.keys / "coordinator.key_secret")]
        load = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.test.addCleanup(lambda: (load.kill(), load.communicate()))
        return load

    def finish(self, load, status=0):
        out, err = load.communicate(timeout=PATIENCE)
        self.test.assertEqual(load.returncode, status, out + err)
        return json.loads(self.report.read_text(encoding="utf-8")), out, err

    def load(self, *options, status=0):
        return self.finish(self.start(*options), status)

    def answers(self):
        """What the routers counted: by outcome, and of each model by outcome."""
        self.wait_until("the routers are done", lambda: self.cluster.sum("volvox_cluster_requests_in_flight") == 0)
        outcomes, models = {}, {}
        for router in self.cluster.routers:
            for name, count in router.page().items():
                labels = name.split('"')[1::2]
                if name.startswith("volvox_requests_total{"):
                    outcomes[labels[0]] = outcomes.get(labels[0], 0) + int(count)
                if name.startswith("volvox_model_requests_total{") and count:
                    _, model, outcome = labels  # of each door
                    of_model = models.setdefault(model.split("/")[0], {})
                    of_model[outcome] = of_model.get(outcome, 0) + int(count)
        return {outcome: count for outcome, count in outcomes.items() if count}, models


class Checks:
    """What holds in each network; setUp() makes the `world`."""

    def test_totals_are_the_clusters_own(self):
        sent = {}
        for model, options in (("m", ["--cancel-fraction", 0.3, "--cancel-after-ms", 1]), ("n", [])):
            report, _, err = self.world.load("--model", model, "--rate", 900 // SLOW, "--seconds", 3, "--length", 20, *options)
            self.assertEqual(report["models"].keys(), {model})
            sent[model] = report["models"][model]["outcomes"]
            self.assertEqual([agent["state"] for agent in report["agents"]], ["done"] * AGENTS)
            self.assertFalse(report["partial"])
            self.assertEqual(report["missing_share"], 0)
            self.assertEqual(report["duplicates"], 0)
            self.assertIn("agents:", err)
        self.assertGreater(sent["m"]["CANCELLED"], 100 // SLOW)
        self.assertGreater(sent["n"]["OK"], 2500 // SLOW)
        outcomes, models = self.world.answers()
        expected = {}
        for of_model in sent.values():
            for outcome, count in of_model.items():
                expected[outcome.lower()] = expected.get(outcome.lower(), 0) + count
        self.assertEqual(outcomes, expected)
        self.assertEqual(models, {model: {outcome.lower(): count for outcome, count in of_model.items()}
                                  for model, of_model in sent.items()})  # fmt: skip

    def test_a_mix_of_models_is_counted_model_by_model(self):
        workload = self.world.folder / "mix.toml"
        workload.write_text('[load]\nseconds = 3\nwarmup = 0.5\n[arrivals]\nkind = "bursts"\non_seconds = 1\n'
                            f'rate = {900 // SLOW}\noff_rate = {100 // SLOW}\n'
                            'off_seconds = 1\n[[request]]\nmodel = "m"\nweight = 3\n[[request]]\nmodel = "n"\nlength = 9\n',
                            encoding="utf-8")  # fmt: skip
        report, _, _ = self.world.load("--workload", workload)
        sent = {model: of_model["outcomes"] for model, of_model in report["models"].items()}
        self.assertEqual(sent.keys(), {"m", "n"})
        self.assertGreater(sent["m"]["OK"], 2 * sent["n"]["OK"])
        self.assertGreater(sent["n"]["OK"], 200 // SLOW)
        _, models = self.world.answers()
        self.assertEqual({model: of_model["ok"] for model, of_model in models.items()},
                         {model: of_model["OK"] for model, of_model in sent.items()})  # fmt: skip

    def test_a_trace_is_replayed_exactly(self):
        times = [0.01 * i for i in range(100)] + [1.5] * 50
        lines = ["at_s,model,size", *(f"{at},{'mn'[i % 2]},{i % 7 + 1}" for i, at in enumerate(times))]
        (self.world.folder / "trace.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        workload = self.world.folder / "trace.toml"
        workload.write_text('[arrivals]\nkind = "trace"\nfile = "trace.csv"\n[[request]]\nmodel = "m"\n[[request]]\n'
                            'model = "n"\n', encoding="utf-8")  # fmt: skip
        timeline = self.world.folder / "timeline.csv"
        report, _, _ = self.world.load("--workload", workload, "--timeline", timeline)
        self.assertEqual([report["models"][model]["outcomes"] for model in "mn"], [{"OK": 75}, {"OK": 75}])
        rows = [line.split(",") for line in timeline.read_text(encoding="utf-8").splitlines()[1:]]
        due = sorted(int(due) for due, _, _ in rows)
        for i, at in enumerate(times):
            self.assertAlmostEqual((due[i] - due[0]) / 1e6, at, delta=1e-5)

    def test_merged_percentiles_are_those_of_the_raw_times(self):
        timeline = self.world.folder / "timeline.csv"
        report, _, _ = self.world.load("--model", "m", "--rate", 600 // SLOW, "--seconds", 3, "--timeline", timeline)
        rows = [line.split(",") for line in timeline.read_text(encoding="utf-8").splitlines()[1:]]
        took = sorted(int(took) for _, took, outcome in rows if outcome == "OK")
        self.assertEqual(len(took), report["completed"])
        for name, fraction in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
            raw = percentile(took, fraction) / 1e3
            self.assertAlmostEqual(report["latency_ms"][name], raw, delta=0.01 * raw + 0.001, msg=name)
        due = sorted(int(due) for due, _, _ in rows)
        self.assertLess((due[-1] - due[0]) / 1e6, 3.01, "one start instant on one axis, whatever the agents' clocks say")

    def test_the_bounds_of_the_clocks_contain_the_truth(self):
        report, _, _ = self.world.load("--model", "m", "--rate", 300 // SLOW, "--requests", 300, "--warmup", 0)
        for i, agent in enumerate(report["agents"]):
            shift_ms = 1e3 * SHIFT_S if self.shifted and i == AGENTS - 1 else 0
            self.assertLessEqual(abs(agent["clock_offset_ms"] - shift_ms), agent["clock_bound_ms"], agent)
            self.assertLess(agent["clock_bound_ms"], 100, "and says something")

    def test_an_agent_that_is_killed_is_missing_and_named(self):
        load = self.world.start("--model", "m", "--rate", 600 // SLOW, "--seconds", 5, "--warmup", 0)
        for _ in range(2):
            load.stderr.readline()
        self.world.agents[1].kill()
        report, out, _ = self.world.finish(load, PARTIAL)
        states = [agent["state"] for agent in report["agents"]]
        self.assertEqual(states, ["done", "missing", "done"])
        self.assertTrue(report["agents"][1]["why"])
        self.assertGreater(report["agents"][1]["offered"], 0, "what was last heard of it")
        self.assertAlmostEqual(report["missing_share"], 1 / 3)
        self.assertTrue(report["partial"])
        self.assertEqual(report["offered"], report["agents"][0]["offered"] + report["agents"][2]["offered"])
        self.assertAlmostEqual(report["offered"], 2000 / SLOW, delta=250 / SLOW**0.5)
        self.assertIn("PARTIAL", out)

    def test_interrupting_the_coordinator_stops_all(self):
        load = self.world.start("--model", "m", "--rate", 600 // SLOW, "--seconds", 600)
        for _ in range(2):
            load.stderr.readline()
        load.send_signal(signal.SIGINT)
        report, _, _ = self.world.finish(load)
        self.assertGreater(report["completed"], 0)
        self.assertEqual([agent["state"] for agent in report["agents"]], ["done"] * AGENTS)
        for agent in self.world.agents:
            self.world.wait_until("the agents are free", lambda agent=agent: agent.said("the load is over"))


class OnLoopback(Checks, unittest.TestCase):
    shifted = False

    def setUp(self):
        self.world = World(self, Loopback(), self.shifted)

    def test_answers_are_verified_here(self):
        models = self.world.cluster.models
        report, _, _ = self.world.load("--model", "m", "--models", models, "--rate", 600 // SLOW, "--requests", 600)
        self.assertGreaterEqual(report["verified"], 600)
        self.assertEqual(report["wrong"], 0)

    def test_a_coordinator_that_is_killed_is_not_waited_for(self):
        load = self.world.start("--model", "m", "--rate", 600 // SLOW, "--seconds", 600)
        load.stderr.readline()
        load.kill()
        for agent in self.world.agents:
            self.world.wait_until("the agents stop", lambda agent=agent: agent.said("the load is over"))
        self.world.load("--model", "m", "--rate", 100, "--requests", 30)

    def test_what_cannot_be_is_said(self):
        for options, words in (
            (["--rate", 1e6, "--seconds", 1], "at most 10000 requests a second"),
            (["--sessions", 5], "agents offer requests that stand alone"),
            (["--rate", 9, "--requests", 2], "fewer requests than there are agents"),
        ):
            load = self.world.start("--model", "m", *options)
            _, err = load.communicate(timeout=PATIENCE)
            self.assertEqual(load.returncode, 1)
            self.assertIn(words, err)


class InNamespaces(Checks, unittest.TestCase):
    """With keys, and a clock that is ahead where the kernel can do that."""

    def setUp(self):
        try:
            network = Namespaces()
        except Unfit as why:
            self.skipTest(str(why))
        self.addCleanup(network.close)
        self.shifted = time_namespaces()
        self.world = World(self, network, self.shifted)

    def test_a_clock_can_be_shifted_here(self):
        if not self.shifted:
            self.skipTest("time namespaces cannot be made here: no agent's clock was shifted")

    def test_a_key_that_is_not_known_commands_nobody(self):
        (self.world.keys / "clients" / "coordinator.key").unlink()
        command = [VOLVOX, "keys", str(self.world.folder / "others"), "--client", "coordinator"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        load = self.world.start("--model", "m", "--rate", 100, "--requests", 30)
        _, err = load.communicate(timeout=PATIENCE)
        self.assertEqual(load.returncode, 1)
        self.assertIn("UNAUTHENTICATED", err)
        self.world.wait_until("an agent says that it refused",
                              lambda: any(agent.said("refused a coordinator") for agent in self.world.agents))
        self.assertEqual(self.world.answers()[0], {})


if __name__ == "__main__":
    loud.main()
