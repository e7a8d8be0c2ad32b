"""Bounds that scenarios of the campaign set on processes: control groups of either version."""

import os
import pathlib
import time

from cluster_processes import Unfit

ROOT = pathlib.Path("/sys/fs/cgroup")
PERIOD_US = 100_000


class Group:
    """A control group with one process in it, which goes back where it was on close()."""

    def __init__(self, controller, name, pid):
        unified = (ROOT / "cgroup.controllers").exists()
        self.new, self.pid = unified, pid
        parent = ROOT if unified else ROOT / controller
        self.home = parent / self._home(controller, pid).lstrip("/")
        self.folder = parent / f"volvox-{os.getpid()}-{name}"
        try:
            if unified:
                (ROOT / "cgroup.subtree_control").write_text(f"+{controller}")
            self.folder.mkdir()
            (self.folder / "cgroup.procs").write_text(str(pid))
        except OSError as problem:
            raise Unfit(f"control groups ({controller}) cannot be made here: {problem}") from None

    @staticmethod
    def _home(controller, pid):
        for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controller in controllers.split(",") or not controllers:
                return path
        return "/"

    def write(self, name, value):
        (self.folder / name).write_text(str(value))

    def read(self, name):
        return (self.folder / name).read_text()

    def close(self):
        for pid in self.read("cgroup.procs").split():
            try:
                (self.home / "cgroup.procs").write_text(pid)
            except OSError:
                pass  # it has ended meanwhile
        for _ in range(50):
            try:
                return self.folder.rmdir()
            except OSError:
                time.sleep(0.1)


class ProcessorGroup(Group):
    def __init__(self, name, pid):
        super().__init__("cpu", name, pid)

    def limit(self, share):
        """Of one processor; None: no limit."""
        if self.new:
            self.write("cpu.max", f"{int(share * PERIOD_US) if share else 'max'} {PERIOD_US}")
        else:
            self.write("cpu.cfs_quota_us", int(share * PERIOD_US) if share else -1)


class MemoryGroup(Group):
    def __init__(self, name, pid):
        super().__init__("memory", name, pid)

    def limit(self, size):
        self.write("memory.max" if self.new else "memory.limit_in_bytes", size)

    def kills(self):
        """How often the kernel has killed in it for want of memory."""
        words = self.read("memory.events" if self.new else "memory.oom_control").split()
        return int(words[words.index("oom_kill") + 1])
