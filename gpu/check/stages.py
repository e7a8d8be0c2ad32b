"""Runs programs one after the other so that none can harm what the others found out.

A machine with a GPU is lent for minutes, and what comes back is one folder with few files. So each program is a stage with a time box
and a log of its own; whatever a stage does (crash, hang, print garbage, leave nothing, leave too much), the next one runs, and
after each the folder holds a whole account of all before it.
"""

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import tarfile
import threading
import time

LOG_HEAD, LOG_TAIL = 192 << 10, 192 << 10  # bytes of a stage's output that are kept
MOST_RESULT = 4 << 20  # bytes of a stage's JSON
GRACE_S, LEAST_S, MARGIN_S = 5, 10, 8  # to end after SIGTERM; worth beginning; kept for the account


@dataclasses.dataclass
class Stage:
    """`command` may name {result}: the file for its JSON. `needs`: stages without whose success it is pointless.
    `instead_of`: it runs only if that stage did not succeed."""

    name: str
    seconds: float
    command: list
    needs: tuple = ()
    instead_of: str = ""
    environment: dict = dataclasses.field(default_factory=dict)


class Log:
    """The first and the last part of what a program prints, however much that is."""

    def __init__(self, stream):
        self.stream, self.head, self.tail, self.bytes = stream, bytearray(), bytearray(), 0
        self.thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self.thread.start()

    def _read(self, stream):
        while part := os.read(stream.fileno(), 65536):
            self.bytes += len(part)
            room = LOG_HEAD - len(self.head)
            self.head += part[:room]
            self.tail += part[room:]
            if len(self.tail) > 2 * LOG_TAIL:
                del self.tail[:-LOG_TAIL]

    def content(self):
        self.thread.join(GRACE_S)  # a grandchild that left the group may hold the pipe
        if not self.thread.is_alive():
            self.stream.close()
        kept = bytes(self.head) + bytes(self.tail[-LOG_TAIL:])
        left_out = self.bytes - len(kept)
        if left_out <= 0:
            return kept
        return bytes(self.head) + b"\n... %d bytes left out ...\n" % left_out + bytes(self.tail[-LOG_TAIL:])


def end_group(process):
    """SIGTERM, then SIGKILL, to the stage and all that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(GRACE_S)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def read_result(path):
    """A stage's JSON, and why there is none."""
    try:
        size = path.stat().st_size
    except OSError:
        return None, "it left no result"
    if size > MOST_RESULT:
        return None, f"its result has {size} bytes, {MOST_RESULT} are read"
    try:
        return json.loads(path.read_text(encoding="utf-8")), None
    except (OSError, ValueError) as why:
        return None, f"its result is no JSON: {why}"


class Runner:
    """Runs stages within `limit_s` in all and `box_s` each. `out` gets summary.json, table.md and logs.tar.gz, whole after each stage; `account` turns
    {stage: what became of it} into what summary.json holds besides, `table` all of that into text."""

    def __init__(self, out, work, limit_s, account=lambda stages: {}, table=lambda found: "", say=print,
                 box_s=float("inf")):  # fmt: skip
        self.out, self.work, self.limit_s, self.box_s = pathlib.Path(out), pathlib.Path(work), limit_s, box_s
        self.account, self.table, self.say = account, table, say
        self.begin, self.stages = time.monotonic(), {}
        self.out.mkdir(parents=True, exist_ok=True)
        self.work.mkdir(parents=True, exist_ok=True)

    def carry(self, stages):
        """Takes over what an earlier call measured."""
        for name, row in stages.items():
            if isinstance(row, dict) and isinstance(row.get("result"), dict):
                self.stages[name] = {"status": "carried", "result": row["result"]}

    def left_s(self):
        return self.limit_s - MARGIN_S - (time.monotonic() - self.begin)

    def why_not(self, stage):
        """Why a stage is not run; None if it is."""
        bad = [name for name in stage.needs if self.stages.get(name, {}).get("status") != "ok"]
        if bad:
            return f"needs {', '.join(bad)}"
        if stage.instead_of and self.stages.get(stage.instead_of, {}).get("status") == "ok":
            return f"{stage.instead_of} succeeded"
        if self.left_s() < LEAST_S:
            return "no time is left"
        return None

    def run(self, stages):
        for stage in stages:
            reason = self.why_not(stage)
            self.stages[stage.name] = {"status": "skipped", "why": reason} if reason else self.run_one(stage)
            row = self.stages[stage.name]
            self.say(f"{stage.name}: {row['status']}{', ' + row['why'] if row.get('why') else ''}"
                     f"{' (%.0f s)' % row['seconds'] if 'seconds' in row else ''}")  # fmt: skip
            self.keep()
        return self.stages

    def run_one(self, stage):
        result = self.work / f"{stage.name}.json"
        result.unlink(missing_ok=True)
        wants_result = any("{result}" in part for part in map(str, stage.command))
        command = [str(part).replace("{result}", str(result)) for part in stage.command]
        begin, box = time.monotonic(), min(stage.seconds, self.box_s, self.left_s())
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       start_new_session=True, env={**os.environ, **stage.environment}, cwd=self.work)  # fmt: skip
        except OSError as why:
            return {"status": "failed", "why": str(why), "seconds": 0.0}
        log = Log(process.stdout)
        try:
            status, why = self.outcome(process.wait(box))
        except subprocess.TimeoutExpired:
            status, why = "timed out", f"after {box:.0f} s"
        end_group(process)
        (self.work / f"{stage.name}.log").write_bytes(log.content())
        row = {"status": status, "why": why, "seconds": round(time.monotonic() - begin, 1)}
        if wants_result:
            # A program that crashed may have written what it had measured by then.
            row["result"], missing = read_result(result)
            if missing:
                row.update({"status": "failed"} if status == "ok" else {}, why=f"{why}; {missing}" if why else missing)
        return row

    @staticmethod
    def outcome(code):
        if code == 0:
            return "ok", None
        return ("crashed", f"signal {-code}") if code < 0 else ("failed", f"status {code}")

    def keep(self):
        try:
            account = self.account(self.stages)
        except Exception as why:  # pylint: disable=broad-except
            # Whatever a stage wrote, what the others wrote is kept.
            account = {"account_failed": repr(why)}
        found = {**account, "stages": self.stages}
        text = json.dumps(found, indent=2) + "\n"
        self.replace("summary.json", lambda path: path.write_text(text, encoding="utf-8"))
        self.replace("table.md", lambda path: path.write_text(self.table(found), encoding="utf-8"))
        self.replace("logs.tar.gz", self.pack_logs)

    def pack_logs(self, path):
        with tarfile.open(path, "w:gz") as packed:
            for log in sorted((*self.work.glob("*.log"), *self.work.glob("*.xml"))):
                if log.stat().st_size <= MOST_RESULT:
                    packed.add(log, log.name)

    def replace(self, name, write):
        unfinished = self.work / f"{name}.new"
        write(unfinished)
        target = self.out / name
        target.with_suffix(".part").write_bytes(unfinished.read_bytes())
        target.with_suffix(".part").replace(target)
