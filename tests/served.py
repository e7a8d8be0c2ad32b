"""A `volvox serve` of one's own, for tests and measurements."""

import os
import pathlib
import subprocess
import time
import urllib.request

PATIENCE = 60  # seconds for what must happen, however slow the machine is


def addresses_in(port_file, process, count):
    """What a process writes there once it is ready, `count` addresses; RuntimeError when it ends or takes too long."""
    until = time.monotonic() + PATIENCE
    while not (port_file.exists() and len(port_file.read_text(encoding="utf-8").split()) == count):
        if process.poll() is not None or time.monotonic() > until:
            raise RuntimeError("it did not start")
        time.sleep(0.01)
    return port_file.read_text(encoding="utf-8").split()


def cpu_s_of(pid):
    """Processor time that a process has used."""
    ticks = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


class Server:
    """A server on ports of its own, with its models, configuration and log in `folder`.

    `models`: (kind, name, options…) of each, as `volvox models new` takes them; one that is there already is kept. The server
    has answered nothing yet when this returns; RuntimeError with its log when it does not start. Attributes: `process`,
    `endpoint`, `metrics` and, unless `http` is empty, `http`.
    """

    def __init__(self, volvox, folder, models, config="", listen="tcp://127.0.0.1:0", http="", metrics="127.0.0.1:0", options=()):
        self.folder = pathlib.Path(folder)
        for kind, name, *shape in models:
            if not (self.folder / "models" / name).exists():
                command = [volvox, "models", "new", kind, str(self.folder / "models" / name), *shape]
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        (self.folder / "serve.toml").write_text(config, encoding="utf-8")
        self.ports = self.folder / "ports"
        self.ports.unlink(missing_ok=True)
        command = [volvox, "serve", "--config", str(self.folder / "serve.toml"), "--port-file", str(self.ports)]
        command += ["--models", str(self.folder / "models"), "--listen", listen, "--metrics", metrics, "--http", http]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([*command, *options], stdout=log, stderr=log)
        self.endpoint, self.metrics, *rest = self._wait_for_ports(3 if http else 2)
        self.http = rest[0] if rest else None

    def _wait_for_ports(self, count):
        try:
            return addresses_in(self.ports, self.process, count)
        except RuntimeError:
            self.kill()
            raise RuntimeError(self.log()) from None

    def log(self):
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def page(self):
        """What the server shows at /metrics."""
        return urllib.request.urlopen(self.metrics + "/metrics", timeout=PATIENCE).read().decode()

    def values(self):
        """The metrics, by name and labels as they stand on the page."""
        lines = (line.rsplit(" ", 1) for line in self.page().splitlines() if not line.startswith("#"))
        return {name: float(value) for name, value in lines}

    def answers(self):
        """How many requests the server has answered, by outcome."""
        found = {name.split('"')[1]: int(count) for name, count in self.values().items() if name.startswith("volvox_requests_total{")}
        return {outcome: count for outcome, count in found.items() if count > 0}

    def rss_mib(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        return 0.0

    def stop(self):
        """Asks the server to end; its exit status."""
        self.process.terminate()
        return self.process.wait(PATIENCE)

    def kill(self):
        self.process.kill()
        self.process.wait()
