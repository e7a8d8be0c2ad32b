"""A cluster of real processes for measurements: on loopback, or each in a network namespace of its own."""

import contextlib
import ctypes
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from served import cpu_s_of  # noqa: E402

NOBODY = "02:00:00:00:00:01"  # a hardware address that no device has
CLONE_NEWNET = 0x40000000


class Unfit(Exception):
    """This machine cannot do what is asked."""


def ports_of_servers():
    """None of these is given to whoever asks the kernel for any port, so a server that is down finds its port free again."""
    first, _last = map(int, pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    return range(min(10000, first // 2), first)


HELD_PORTS = []


def free_port(address="127.0.0.1"):
    """Nobody else who asks here is given it as long as this process lives: it holds the UDP port of the same number, which no
    server needs."""
    for port in random.sample(ports_of_servers(), 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address, port))
            held = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            with contextlib.ExitStack() as unless_bound:
                unless_bound.callback(held.close)
                held.bind((address, port))
                unless_bound.pop_all()
            HELD_PORTS.append(held)
            return port
    raise Unfit("no port is free")


class Others:
    """Between begin and share(): which part of this machine's processors others used than the cluster and its load."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.begin = self._read()

    def _read(self):
        ticks = list(map(int, pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]))
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        own_s = self.cluster.cpu_s() + children.ru_utime + children.ru_stime
        hertz = os.sysconf("SC_CLK_TCK")
        return (sum(ticks) - ticks[3] - ticks[4]) / hertz, sum(ticks) / hertz, own_s

    def share(self):
        busy, all_of_it, own = (now - before for now, before in zip(self._read(), self.begin))
        return max(0.0, busy - own) / all_of_it


class Loopback:
    """All processes share this machine's loopback."""

    def host(self, _name):
        return Host("127.0.0.1", [])

    def close(self):
        pass


class Host:
    def __init__(self, address, prefix, namespace=""):
        self.address, self.prefix, self.namespace = address, prefix, namespace

    def port(self):
        """A free one; namespaces are empty, so that one that is free here is free there."""
        return free_port()


class Namespaces:
    """Each process has its own network namespace and address, on one bridge; this process sits at the bridge, too. A cut link is
    silent: the sender believes that a machine is there which is not. close() removes everything."""

    def __init__(self):
        if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("tc"):
            raise Unfit("network namespaces need root, and the programs ip and tc")
        self.name, self.made, self.home = f"volvox{os.getpid()}", [], os.open("/proc/self/ns/net", os.O_RDONLY)
        self.hub = self._make("hub")
        for command in (["link", "add", "hub", "type", "bridge"], ["addr", "add", "10.77.0.1/16", "dev", "hub"]):
            self._ip(self.hub, *command)
        self._ip(self.hub, "link", "set", "hub", "up")
        with open(f"/run/netns/{self.hub}", "rb") as there:
            self._enter(there.fileno())

    def _make(self, name):
        namespace = f"{self.name}-{name}"
        made = subprocess.run(["ip", "netns", "add", namespace], capture_output=True, text=True, check=False)
        if made.returncode:
            raise Unfit(f"no network namespace can be made here: {made.stderr.strip()}")
        self.made.append(namespace)
        self._ip(namespace, "link", "set", "lo", "up")
        return namespace

    @staticmethod
    def _ip(namespace, *command):
        subprocess.run(["ip", "-n", namespace, *command], check=True)

    @staticmethod
    def _enter(descriptor):
        if ctypes.CDLL(None, use_errno=True).setns(descriptor, CLONE_NEWNET):
            raise Unfit(f"cannot enter a network namespace: {os.strerror(ctypes.get_errno())}")

    def host(self, name):
        namespace, address = self._make(name), f"10.77.0.{len(self.made) + 10}"
        self._ip(self.hub, "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        self._ip(self.hub, "link", "set", name, "master", "hub", "up")
        self._ip(namespace, "addr", "add", f"{address}/16", "dev", "eth0")
        self._ip(namespace, "link", "set", "eth0", "up")
        return Host(address, ["ip", "netns", "exec", namespace], namespace)

    def cut(self, sender, address):
        """From now on nothing that the sender sends to the address arrives."""
        self._ip(sender.namespace, "neigh", "replace", address, "lladdr", NOBODY, "nud", "permanent", "dev", "eth0")

    def mend(self, sender, address):
        self._ip(sender.namespace, "neigh", "del", address, "dev", "eth0")

    def slow(self, host, mbit):
        """So much in either direction."""
        shape = ["root", "tbf", "rate", f"{mbit}mbit", "burst", "32kb", "latency", "400ms"]
        name = host.namespace.removeprefix(self.name + "-")
        subprocess.run(["tc", "-n", self.hub, "qdisc", "add", "dev", name, *shape], check=True)
        subprocess.run(["tc", "-n", host.namespace, "qdisc", "add", "dev", "eth0", *shape], check=True)

    def close(self):
        self._enter(self.home)
        os.close(self.home)
        for namespace in self.made:  # with its devices
            subprocess.run(["ip", "netns", "del", namespace], check=False)


class Member:
    """A router or a node. It keeps its name and ports when it is started again."""

    in_flight_metric = "volvox_requests_in_flight"

    def __init__(self, name, host, command, log):
        self.name, self.host, self.log, self.process = name, host, log, None
        self.metrics = f"{host.address}:{host.port()}"
        self.command = [*host.prefix, *command, "--name", name, "--metrics", self.metrics]
        if host.namespace:
            self.command.append("--insecure-doors")

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log)

    def send(self, number):
        self.process.send_signal(number)
        if number == signal.SIGKILL:
            self.process.wait()

    def end(self):
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.send(signal.SIGKILL)

    def cpu_s(self):
        return cpu_s_of(self.process.pid)

    def text(self):
        """What it shows at /metrics; empty when it does not answer."""
        try:
            return urllib.request.urlopen(f"http://{self.metrics}/metrics", timeout=2).read().decode()
        except (urllib.error.URLError, OSError):
            return ""

    def page(self):
        """Its metrics: name with labels → value. Empty when it does not answer."""
        lines = (line.rsplit(" ", 1) for line in self.text().splitlines() if line and not line.startswith("#"))
        return {name: float(value) for name, value in lines}

    def in_flight(self):
        return int(self.page().get(self.in_flight_metric, 0))


class Router(Member):
    in_flight_metric = "volvox_cluster_requests_in_flight"

    def __init__(self, volvox, name, host, config, log):
        self.endpoint = f"tcp://{host.address}:{host.port()}"
        self.dial = f"{host.address}:{host.port()}"
        command = [volvox, "router", "--config", config, "--listen", self.endpoint, "--cluster-listen", self.dial]
        command += ["--http", ""]
        if host.namespace:
            command.append("--insecure-cluster")
        super().__init__(name, host, command, log)

    def members(self):
        return int(self.page().get("volvox_cluster_members", -1))


class Cluster:
    """`routers` and `nodes` are lists of members. `more_routers`: addresses that nodes dial, too."""

    def __init__(self, volvox, folder, network, config, routers=2, nodes=3, more_routers=()):
        self.volvox, self.network, self.folder = str(volvox), network, pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.models = self.folder / "models"
        (self.folder / "cluster.toml").write_text(config, encoding="utf-8")
        settings = str(self.folder / "cluster.toml")
        self.routers = [Router(self.volvox, f"r{i}", network.host(f"r{i}"), settings, self.log(f"r{i}")) for i in range(routers)]
        dial = ",".join([*(router.dial for router in self.routers), *more_routers])
        self.nodes = []
        for i in range(nodes):
            command = [self.volvox, "node", "--config", settings, "--models", str(self.models), "--routers", dial]
            command += ["--listen", "tcp://127.0.0.1:0", "--http", ""]
            self.nodes.append(Member(f"n{i}", network.host(f"n{i}"), command, self.log(f"n{i}")))

    def log(self, name):
        return self.folder / f"{name}.log"

    def new_model(self, kind, name, *options):
        command = [self.volvox, "models", "new", kind, str(self.models / name), *map(str, options)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def start(self):
        for member in (*self.routers, *self.nodes):
            member.start()
        self.wait_for_members()

    def wait_for_members(self, seconds=20):
        """Until every router has every node. How long that took; the program ends when it takes too long."""
        begin = time.monotonic()
        while any(router.members() != len(self.nodes) for router in self.routers):
            if time.monotonic() > begin + seconds:
                counts = [router.members() for router in self.routers]
                raise RuntimeError(f"the routers have {counts} nodes, not {len(self.nodes)} each\n{self.last_words()}")
            time.sleep(0.02)
        return time.monotonic() - begin

    def last_words(self):
        logs = ((log.name, log.read_text(errors="replace").splitlines()[-8:]) for log in sorted(self.folder.glob("*.log")))
        return "\n".join(f"{name}: {line}" for name, lines in logs for line in lines)

    def end(self):
        for member in (*self.nodes, *self.routers):
            member.end()

    def cpu_s(self):
        """Processor time of all members that run."""
        return sum(member.cpu_s() for member in (*self.nodes, *self.routers))

    def sum(self, metric):
        return sum(router.page().get(metric, 0) for router in self.routers)


class Load:
    """A running `volvox load`."""

    def __init__(self, cluster, name, endpoint, *options):
        self.name, self.report, self.timeline = name, cluster.folder / f"{name}.json", cluster.folder / f"{name}.csv"
        self.report.unlink(missing_ok=True)
        command = [cluster.volvox, "load", "--connect", endpoint, "--json", str(self.report)]
        if "--sessions" not in options:  # whose parts have no timeline
            command += ["--timeline", str(self.timeline)]
        with open(cluster.log(name), "ab") as log:
            self.process = subprocess.Popen([*command, *map(str, options)], stdout=log, stderr=log)

    def running(self):
        return self.process.poll() is None

    def result(self, timeout=120):
        """The report, with `timeline`: (when it was due, when it ended, µs each, outcome) of each request."""
        self.process.wait(timeout)
        if not self.report.exists():
            raise RuntimeError(f"the load {self.name} failed; see its log")
        report = json.loads(self.report.read_text(encoding="utf-8"))
        rows = (line.split(",") for line in self.timeline.read_text().splitlines()[1:])
        report["timeline"] = [(int(due), int(due) + int(took), outcome) for due, took, outcome in rows]
        return report

    def end(self):
        if self.running():
            self.process.kill()
            self.process.wait()
