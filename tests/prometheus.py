"""A Prometheus of one's own, Debian's, on loopback, for tests and measurements."""

import json
import pathlib
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

RULES = pathlib.Path(__file__).resolve().parents[1] / "monitoring/prometheus"
PATIENCE = 60  # seconds for what must happen, however slow the machine is


def is_here():
    return shutil.which("prometheus") is not None


class Prometheus:
    """Asks each second, and knows our rules. `jobs`: of each job its processes, by name HOST:PORT; `port`: a free one."""

    def __init__(self, folder, jobs, port):
        self.folder, self.url = pathlib.Path(folder), f"http://127.0.0.1:{port}"
        # JSON is YAML, too.
        scrapes = [{"job_name": job, "static_configs": [{"targets": [where], "labels": {"instance": name}}
                                                        for name, where in processes.items()]}
                   for job, processes in jobs.items()]  # fmt: skip
        rules = [str(RULES / name) for name in ("recording.yml", "alerts.yml")]
        config = {"global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
                  "rule_files": rules, "scrape_configs": scrapes}  # fmt: skip
        (self.folder / "prometheus.yml").write_text(json.dumps(config), encoding="utf-8")
        command = ["prometheus", f"--config.file={self.folder / 'prometheus.yml'}", f"--web.listen-address=127.0.0.1:{port}",
                   f"--storage.tsdb.path={self.folder / 'data'}", "--log.level=warn"]  # fmt: skip
        with open(self.folder / "prometheus.log", "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        until = time.monotonic() + PATIENCE
        while not self._ready():
            if self.process.poll() is not None or time.monotonic() > until:
                self.end()
                raise RuntimeError((self.folder / "prometheus.log").read_text(encoding="utf-8"))
            time.sleep(0.05)

    def _ready(self):
        try:
            return urllib.request.urlopen(self.url + "/-/ready", timeout=5).status == 200
        except (urllib.error.URLError, OSError):
            return False

    def get(self, path, **parameters):
        """The `data` of what the API answers; RuntimeError with its words for a question that is wrong."""
        try:
            answer = urllib.request.urlopen(f"{self.url}{path}?{urllib.parse.urlencode(parameters)}", timeout=PATIENCE)
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode()) from error
        return json.loads(answer.read())["data"]

    def query(self, expression):
        """What there is now: (labels, value) of each series whose value is a number."""
        result = self.get("/api/v1/query", query=expression)["result"]
        found = ((one["metric"], float(one["value"][1])) for one in result)
        return [(labels, value) for labels, value in found if value == value]

    def query_range(self, expression, seconds, step=1):
        """The last so many seconds: (labels, [(time, value)]) of each series."""
        now = time.time()
        result = self.get("/api/v1/query_range", query=expression, start=now - seconds, end=now, step=step)["result"]
        return [(one["metric"], [(moment, float(value)) for moment, value in one["values"]]) for one in result]

    def rules(self):
        """All that it has loaded, each with `name`, `query`, `type`, `health` and, where that is bad, `lastError`."""
        return [rule for group in self.get("/api/v1/rules")["groups"] for rule in group["rules"]]

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
