"""A `volvox serve` of its own beside, or in place of, a cluster of the campaign."""

import os
import pathlib
import subprocess
import time
import urllib.error
import urllib.request

from cluster_processes import Host, Member


def look_at(member, page):
    """The status of one of its pages, and what it says; 0 and nothing: no answer."""
    try:
        with urllib.request.urlopen(f"http://{member.metrics}/{page}", timeout=2) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


def health(member, page="healthz"):
    """The status of one of its pages; 0: no answer."""
    return look_at(member, page)[0]


class Single(Member):
    """`options`: more of the command line."""

    def __init__(self, volvox, folder, name, config, *options):
        folder, host = pathlib.Path(folder), Host("127.0.0.1", [])
        self.endpoint, self.admin = f"tcp://127.0.0.1:{host.port()}", str(folder / f"{name}.sock")
        file = folder / f"{name}.toml"
        file.write_text(config, encoding="utf-8")
        command = [volvox, "serve", "--config", str(file), "--models", str(folder / "models"), "--listen", self.endpoint]
        super().__init__(name, host, [*command, "--http", "", "--admin", self.admin, *map(str, options)], folder / f"{name}.log")
        at = self.command.index("--name")  # which a server does not have
        del self.command[at : at + 2]

    def wait_until_ready(self, seconds=20):
        until = time.monotonic() + seconds
        while health(self, "readyz") != 200:
            if time.monotonic() > until or self.process.poll() is not None:
                raise RuntimeError(f"{self.name} does not become ready: {self.log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)


class Unread(Single):
    """One whose log goes into a pipe that nobody reads, and that fill() makes full."""

    def start(self):
        self.log.touch()
        self.ends = os.pipe()
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=self.ends[1])

    def fill(self):
        pipe = os.open(f"/proc/self/fd/{self.ends[1]}", os.O_WRONLY | os.O_NONBLOCK)  # so that the server's end stays as it is
        for size in (4096, 1):
            try:
                while True:
                    os.write(pipe, b"\n" * size)
            except BlockingIOError:
                pass
        os.close(pipe)
