"""A cluster with encrypted links, under load, that a Prometheus of its own watches: for tests and measurements."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/measure"), str(ROOT / "monitoring/grafana")]

from cluster_processes import Cluster, Load, Loopback, free_port  # noqa: E402
from make_dashboards import DASHBOARDS  # noqa: E402
from prometheus import Prometheus  # noqa: E402


def as_grafana_asks(dashboard, expression):
    """What stands in the place of its variables when the dashboard is opened."""
    _, _, job, _ = DASHBOARDS[dashboard]
    chosen = {"$job": ".*" if job == "All" else job, "$instance": ".*", "$model": ".*", "$__rate_interval": "15s"}
    for name, value in chosen.items():
        expression = expression.replace(name, value)
    return expression


def encrypt(cluster):
    """Gives each member a certificate, before it is started."""
    keys, members = cluster.folder / "keys", (*cluster.routers, *cluster.nodes)
    command = [cluster.volvox, "keys", str(keys), "--cluster", *(member.name for member in members)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    for member in members:
        own = keys / "cluster" / member.name
        member.command += ["--tls-certificate", f"{own}.crt", "--tls-key", f"{own}.key", "--tls-ca", str(keys / "cluster/ca.crt")]


class WatchedCluster:
    """A router and `nodes` nodes, which serve `models`: (kind, name, options…). Prometheus knows them by their names."""

    def __init__(self, volvox, folder, models, nodes=2):
        self.cluster, self.loads, self.prometheus = Cluster(volvox, folder, Loopback(), "", routers=1, nodes=nodes), [], None
        try:
            for kind, name, *options in models:
                self.cluster.new_model(kind, name, *options)
            encrypt(self.cluster)
            self.cluster.start()
            jobs = {"volvox": self.cluster.routers, "volvox-nodes": self.cluster.nodes}
            watched = {job: {member.name: member.metrics for member in members} for job, members in jobs.items()}
            self.prometheus = Prometheus(folder, watched, free_port())
        except BaseException:
            self.end()
            raise

    def load(self, *options):
        """Begins one more; it goes on until it is ended, or as its options say."""
        running = Load(self.cluster, f"load{len(self.loads)}", self.cluster.routers[0].endpoint, *options)
        self.loads.append(running)
        return running

    def end(self):
        for load in self.loads:
            load.end()
        if self.prometheus:
            self.prometheus.end()
        self.cluster.end()
