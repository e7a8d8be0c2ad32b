#!/usr/bin/env python3
"""Routers and nodes in network namespaces: what clients see when links fail, and that nothing is left behind.

Usage: cluster_links_test.py VOLVOX
Network namespaces need root; without, the tests are skipped, and the status is 77.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/measure"))

import loud  # noqa: E402
import cluster_figures as figures  # noqa: E402
import cluster_harm as harm  # noqa: E402
import cluster_speed as speed  # noqa: E402
from cluster_processes import Cluster, Namespaces, Unfit  # noqa: E402

VOLVOX = "volvox"
TIMED = ("longest answer", "p90", "suspected")  # what a busy machine may miss


def namespaces():
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    return {line.split()[0] for line in listed.splitlines()}


class Links(unittest.TestCase):
    def setUp(self):
        try:
            self.network = Namespaces()
        except Unfit as why:
            self.skipTest(str(why))
        self.addCleanup(self.network.close)

    def expect_nothing_lost(self, scenario, seconds=5):
        with tempfile.TemporaryDirectory() as folder:
            report = scenario(VOLVOX, pathlib.Path(folder), self.network, seconds)
        for name, figure in report["figures"].items():
            if any(word in name for word in TIMED):
                print(f"{report['what']}: not judged here: {name}: {figure}", flush=True)
            else:
                self.assertTrue(figures.held(figure), f"{name}: {report}")
        return report

    def test_a_node_that_does_not_hear_the_routers(self):
        self.expect_nothing_lost(harm.cut_in)

    def test_a_node_that_the_routers_do_not_hear(self):
        self.expect_nothing_lost(harm.cut_out)

    def test_a_node_that_one_router_alone_has_lost(self):
        self.expect_nothing_lost(harm.cut_one)

    def test_nodes_come_back_although_an_address_swallows_what_is_sent_there(self):
        self.expect_nothing_lost(harm.restart)

    def test_large_requests_over_a_slow_link(self):
        try:
            speed.heavy_client()
        except Unfit as why:
            self.skipTest(str(why))
        self.expect_nothing_lost(speed.slow_link)


class Names(unittest.TestCase):
    """A node that knows its routers by one name."""

    def test_a_node_joins_all_routers_that_the_name_stands_for_and_those_that_come(self):
        try:
            network = Namespaces()
        except Unfit as why:
            self.skipTest(str(why))
        self.addCleanup(network.close)
        folder = self.enterContext(tempfile.TemporaryDirectory())
        cluster = Cluster(VOLVOX, folder, network, '[admin]\nsocket = ""\n[device]\nkind = "timed"\n', routers=3, nodes=1)
        cluster.new_model("check", "check")
        self.addCleanup(cluster.end)
        port = cluster.routers[0].dial.rsplit(":", 1)[1]
        for router in cluster.routers:
            router.command[router.command.index("--cluster-listen") + 1] = f"{router.host.address}:{port}"
        node = cluster.nodes[0]
        node.command[node.command.index("--routers") + 1] = f"routers.volvox.test:{port}"
        hosts = pathlib.Path("/etc/netns", node.host.namespace, "hosts")  # what the node sees as /etc/hosts
        hosts.parent.mkdir(parents=True)
        self.addCleanup(shutil.rmtree, hosts.parent)
        lines = [f"{router.host.address} routers.volvox.test\n" for router in cluster.routers]
        hosts.write_text("".join(lines[:2]), encoding="utf-8")
        for member in (*cluster.routers, node):
            member.start()
        self.wait_for_members(cluster, [1, 1, 0])
        with open(hosts, "a", encoding="utf-8") as more:
            more.write(lines[2])
        self.wait_for_members(cluster, [1, 1, 1])

    def wait_for_members(self, cluster, members):
        until = time.monotonic() + 60
        while [router.members() for router in cluster.routers] != members:
            self.assertLess(time.monotonic(), until, cluster.last_words())
            time.sleep(0.05)


class LocalCluster(unittest.TestCase):
    """deploy/local-cluster.sh."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        subprocess.run([VOLVOX, "models", "new", "check", str(self.folder / "m")], check=True, stdout=subprocess.DEVNULL)

    def start(self, *options):
        command = [str(ROOT / "deploy/local-cluster.sh"), "--models", str(self.folder), "--nodes", "2", *options]
        log = self.enterContext(open(self.folder / "log", "wb"))
        self.process = subprocess.Popen(command, env=os.environ | {"VOLVOX": VOLVOX}, stdout=log, stderr=log, start_new_session=True)
        self.addCleanup(self.stop, signal.SIGTERM)

    def stop(self, number):
        self.process.send_signal(number)
        return self.process.wait(60)

    def answer(self, prefix, endpoint):
        until = time.monotonic() + 60
        while True:
            asked = subprocess.run([*prefix, VOLVOX, "infer", "--connect", endpoint], input='{"model": "m", "tokens": [1, 2]}',
                                   capture_output=True, text=True, check=False)  # fmt: skip
            if asked.returncode == 0 or time.monotonic() > until:
                return asked.returncode, asked.stdout + asked.stderr + (self.folder / "log").read_text()
            time.sleep(0.1)

    def test_namespaces_are_made_and_removed(self):
        try:
            Namespaces().close()
        except Unfit as why:
            self.skipTest(str(why))
        before = namespaces()
        self.start("--netns", "--port", "7731")
        status, said = self.answer(["ip", "netns", "exec", "volvox-7731"], "tcp://10.77.0.10:7731")
        self.assertEqual(status, 0, said)
        self.assertEqual(len(namespaces() - before), 4)
        self.stop(signal.SIGTERM)
        self.assertEqual(namespaces(), before)


if __name__ == "__main__":
    VOLVOX = sys.argv.pop(1)
    harm.RATE = 300  # slow builds shall keep up
    harm.LEAST_IN_FLIGHT = 1  # at that rate: the harm has hit something
    loud.main()
