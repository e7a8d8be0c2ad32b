"""The world of one scenario of the campaign: processes, clients, faults, and what is found out about them in the end."""

import collections
import pathlib
import random
import signal
import struct
import subprocess
import time

import campaign_checker
from campaign_single import Single
from cluster_processes import Cluster, Loopback, Unfit

HERE = pathlib.Path(__file__).resolve().parent
TIMED = "[device]\nkind = \"timed\"\ntimed_task_us = 2000.0\ntimed_row_us = 0.0\n[batching]\nmax_tasks_to_submit = 2\n"
CPU = "[device]\nkind = \"cpu\"\ncompute_threads = 1\n"
ERRORS = ("OVERLOADED", "DEADLINE_EXCEEDED", "CANCELLED", "UNAVAILABLE")  # that any fault may bring
LOSSES = ("SESSION_LOST", "SESSION_EXPIRED")  # that the death of a home may
QUIET_S = 6.0  # at the end of a scenario, without faults


class Shim:
    """One of preload/*.c, built; `number` is what it goes by (preload/armed.h). `prefix` starts a process with it."""

    def __init__(self, folder, source, name):
        library, self.file = pathlib.Path(folder) / f"{source}.so", pathlib.Path(folder) / f"{name}.{source}"
        if not library.exists():
            command = ["cc", "-shared", "-fPIC", "-O2", "-o", str(library), str(HERE / "preload" / f"{source}.c"), "-ldl"]
            built = subprocess.run(command, capture_output=True, text=True, check=False)
            if built.returncode:
                raise Unfit(f"{source}.c cannot be built: {built.stderr.strip()}")
        self.set(0)
        self.prefix = ["env", f"LD_PRELOAD={library}", f"VOLVOX_SHIM={self.file}"]

    def set(self, number):
        with open(self.file, "r+b" if self.file.exists() else "wb") as file:
            file.write(struct.pack("<q", number))

    def get(self):
        return struct.unpack("<q", self.file.read_bytes())[0]


class World:
    """`figures`: name → {"is", "at_most" or "at_least"}; `void`: likewise, without which the run says nothing."""

    def __init__(self, volvox, folder, seconds, seed):
        self.volvox, self.folder, self.seconds, self.random = str(volvox), pathlib.Path(folder), seconds, random.Random(seed)
        self.histories = self.folder / "histories"
        self.histories.mkdir(parents=True)
        self.figures, self.void, self.violations, self.notes, self.counts = {}, {}, [], [], {}
        self.clients, self.cluster, self.singles, self.closing = [], None, [], []

    # --- processes ---

    def make_cluster(self, routers, nodes, config=TIMED, network=None, http=False, models=(("check",),)):
        """Not started yet. Every member has an admin socket; the models of the repository are check models."""
        network = network or Loopback()
        self.closing.append(network)
        self.cluster = Cluster(self.volvox, self.folder, network, config, routers=routers, nodes=nodes)
        for name, *options in models:
            self.new_model(name, *options)
        for member in self.members:
            member.admin = str(self.folder / f"{member.name}.sock")
            member.command += ["--admin", member.admin]
        if http:
            for router in self.cluster.routers:
                router.http = f"{router.host.address}:{router.host.port()}"
                router.command[router.command.index("--http") + 1] = router.http
        return self.cluster

    def new_model(self, name, *options, kind="check"):
        """A check model whose chains may be long."""
        self.cluster.new_model(kind, name, *options)
        toml = self.cluster.models / name / "model.toml"
        toml.write_text(toml.read_text().replace("max_length = 4096", "max_length = 1000000"), encoding="utf-8")

    def add_single(self, name, config, *options, kind=Single, start=True):
        """A server with the cluster's models."""
        self.singles.append(kind(self.volvox, self.folder, name, config, *options))
        if start:
            self.singles[-1].start()
            self.singles[-1].wait_until_ready()
        return self.singles[-1]

    @property
    def members(self):
        return [*self.cluster.routers, *self.cluster.nodes, *self.singles]

    @property
    def servers(self):
        return {router.name: router.endpoint for router in self.cluster.routers}

    def preload(self, member, source):
        shim = Shim(self.folder, source, member.name)
        at = len(member.host.prefix)
        member.command[at:at] = shim.prefix
        return shim

    def command(self, *arguments, timeout=60):
        return subprocess.run([self.volvox, *map(str, arguments)], capture_output=True, text=True, timeout=timeout, check=False)

    # --- clients and time ---

    def add(self, kind, count, *, name=None, servers=None, keys=(None, None), **options):
        """So many clients of this kind; they are started at once."""
        made = []
        for _ in range(count):
            label = f"{name or kind.__name__.lower()}{len(self.clients)}"
            made.append(kind(label, servers or self.servers, self.histories, keys, **options))
            self.clients.append(made[-1])
            made[-1].start()
        return made

    def begin(self):
        """The time for faults starts; it ends QUIET_S, or half of it, before the scenario does."""
        self.begun = time.monotonic()
        self.until = self.begun + max(self.seconds / 2, self.seconds - QUIET_S)

    def left(self):
        return self.until - time.monotonic()

    def sleep(self, seconds):
        """False when the time for faults is over."""
        time.sleep(max(0.0, min(seconds, self.left())))
        return self.left() > 0

    def quiet(self):
        """To the scenario's end."""
        time.sleep(max(0.0, self.begun + self.seconds - time.monotonic()))

    # --- what is found out ---

    def expect(self, name, value, *, at_most=None, at_least=None):
        bound = {"at_most": at_most} if at_most is not None else {"at_least": at_least}
        self.figures[name] = {"is": round(float(value), 3)} | bound

    def expect_prompt(self, name, seconds, at_most):
        """A short run is a test, perhaps on a machine with other work: it only finds what waits for ever."""
        self.expect(name, seconds, at_most=at_most if self.seconds >= 60 else 10 * at_most)

    def expect_seen(self, name, value, at_least=1):
        """Without this the scenario has shown nothing. Short runs need less."""
        self.void[name] = {"is": round(float(value), 3), "at_least": max(1, round(at_least * min(1.0, self.seconds / 180)))}

    def wrong(self, kind, what):
        self.violations.append((kind, str(what)))

    def expect_alive(self):
        """Nobody has died whom the scenario did not kill."""
        for member in self.members:
            if member.process.poll() is not None:
                self.wrong("died", f"{member.name}: status {member.process.returncode}; {self.last_lines(member)}")

    def last_lines(self, member, count=1):
        return "\n".join(pathlib.Path(member.log).read_text(errors="replace").splitlines()[-count:])

    def recover(self, within=20.0):
        """After the last fault: all members are there again."""
        self.expect_alive()
        for member in self.members:
            if member.process.poll() is not None:
                member.start()
        try:
            self.expect("members are back after, s", self.cluster.wait_for_members(within), at_most=within)
        except RuntimeError as problem:
            self.wrong("members", problem)

    def stop_clients(self, within=90.0):
        for client in self.clients:
            client.stopping.set()
        until = time.monotonic() + within
        for client in self.clients:
            client.join(max(0.1, until - time.monotonic()))
            if client.is_alive() or client.failed:
                self.wrong("program", f"{client.name}: {client.failed or 'does not end'}")

    def expect_nothing_left(self, seconds=10.0):
        """All have taken back what they counted as in flight."""
        until = time.monotonic() + seconds
        left = {}
        while time.monotonic() < until:
            left = {member.name: member.in_flight() for member in self.members}
            if not any(left.values()):
                break
            time.sleep(0.2)
        self.expect("requests still in flight at the end", sum(left.values()), at_most=0)

    def end_members(self, within=20.0):
        """Each is told to stop, and must do so in good order."""
        for member in reversed(self.members):
            process = member.process
            if process is None:
                continue
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
            try:
                status = process.wait(within)
            except subprocess.TimeoutExpired:
                member.send(signal.SIGKILL)
                status = f"none within {within:.0f} s of SIGTERM"
            if status != 0:
                self.wrong("exit status", f"{member.name}: {status}; {self.last_lines(member, 8)}")

    def check(self, allowed):
        """Looks at the histories."""
        violations, counts = campaign_checker.check(self.histories, allowed)
        self.violations += violations
        self.counts |= counts

    def finish(self, allowed, sessions=0, replaced=0, answers=100):
        """The usual end of a scenario. `sessions`, `replaced`: how many parts of them were answered, and replaced after an
        error, at the least, for the scenario to have shown anything in three minutes."""
        self.stop_clients()
        self.expect_nothing_left()
        self.end_members()
        self.check(allowed)
        self.expect_seen("good answers", self.counts.get("OK", 0), answers)
        if sessions:
            self.expect_seen("parts answered", self.counts.get("parts", 0), sessions)
        if replaced:
            self.expect_seen("parts replaced after an error", self.counts.get("parts replaced after an error", 0), replaced)

    def close(self):
        for client in self.clients:
            client.stopping.set()
        for single in self.singles:
            single.end()
        if self.cluster:
            self.cluster.end()
        for one in self.closing:
            one.close()

    def report(self):
        missed = [name for name, figure in self.figures.items() if not holds(figure)]
        empty = [name for name, figure in self.void.items() if not holds(figure)]
        status = "violated" if self.violations or missed else "void" if empty else "holds"
        words = self.cluster.last_words().splitlines()[-40:] if self.cluster and status == "violated" else []
        return {"status": status, "violations": self.violations[:50], "violations_in_all": len(self.violations),
                "violations_by_kind": dict(collections.Counter(kind for kind, _ in self.violations)), "missed": missed,
                "void": empty, "figures": self.figures | self.void, "counts": self.counts, "notes": self.notes, "last_words": words}  # fmt: skip


def holds(figure):
    return figure["is"] <= figure.get("at_most", figure["is"]) and figure["is"] >= figure.get("at_least", figure["is"])
