"""Holds single threads of a process still, as a driver does that never returns, while all its other threads run on."""

import contextlib
import ctypes
import os
import pathlib
import time

from cluster_processes import Unfit

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT, WALL = 17, 0x4206, 0x4207, 0x40000000
FUTEX = "202"  # on x86-64, the number of the system call in which a thread without work waits


def threads_named(pid, name):
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):
            if (task / "comm").read_text().strip() == name:
                found.append(int(task.name))
    return found


def ptrace(request, thread):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes, libc.ptrace.restype = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p], ctypes.c_long
    if libc.ptrace(request, thread, None, None) == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def seize(thread):
    try:
        ptrace(PTRACE_SEIZE, thread)
        ptrace(PTRACE_INTERRUPT, thread)
    except PermissionError as problem:
        raise Unfit(f"threads cannot be held still here: {problem}") from problem
    os.waitpid(thread, WALL)


@contextlib.contextmanager
def held(pid, thread, within=5.0):
    """It stands still where it waited for work, so that it holds no lock that others need. Enter and leave on one thread."""
    until = time.monotonic() + within
    while True:
        seize(thread)
        if pathlib.Path(f"/proc/{pid}/task/{thread}/syscall").read_text().split()[0] == FUTEX:
            break
        ptrace(PTRACE_DETACH, thread)
        if time.monotonic() > until:
            raise RuntimeError(f"thread {thread} never waits")
        time.sleep(0.01)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):  # its process has died
            ptrace(PTRACE_DETACH, thread)
