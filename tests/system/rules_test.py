"""The rules for Prometheus, tried with Prometheus' own promtool: each alert has a case in which it fires, and one near it in which it
does not. Skipped (77) where there is no promtool; on Debian it comes with the package prometheus.

Usage: rules_test.py [unittest's options]
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

RULES = pathlib.Path(__file__).resolve().parents[2] / "monitoring/prometheus"
FILES = ("recording.yml", "alerts.yml")
SKIPPED = 77

AT = 'job="volvox",instance="a"'
NODE = 'job="volvox-nodes",instance="n"'
DEVICE = f'{NODE},device="cpu"'


def series(name, values, labels=AT, more=""):
    return {"series": f"{name}{{{labels}{',' if more else ''}{more}}}", "values": values}


def steps(begin, step, count):
    """A counter that grows, a value a minute."""
    return f"{begin}+{step}x{count}"


def requests(minutes, labels=AT, **by_outcome):
    """Requests a minute, by outcome, for so long."""
    return [series("volvox_requests_total", steps(0, rate, minutes), labels, f'outcome="{outcome}"')
            for outcome, rate in by_outcome.items()]  # fmt: skip


def latencies(minutes, all_of_them, in_time):
    bucket = series("volvox_request_total_seconds_bucket", steps(0, in_time, minutes), AT, 'le="0.25"')
    return [bucket, series("volvox_request_total_seconds_count", steps(0, all_of_them, minutes))]


def jump(name, labels=AT, more=""):
    """A counter that was 0, and grows once."""
    return [series(name, "0x10 1x5", labels, more)]


def rest(name, labels=AT, more="", value=7):
    """One that has counted something long ago."""
    return [series(name, f"{value}x15", labels, more)]


def lasting(name, value, labels=AT):
    return [series(name, f"{value}x15", labels)]


def expiry(days):
    """Of a certificate, as seen at the 15th minute after the beginning of 1970, which is when these cases happen."""
    return lasting("volvox_certificate_expiry_timestamp_seconds", days * 86400 + 900)


# alert: (series with which it fires, series with which it is silent, minute at which both are looked at)
CASES = {
    "VolvoxDown": (lasting("up", 0), lasting("up", 1) + lasting("up", 0, NODE), 15),
    "VolvoxUnhealthy": (lasting("volvox_healthy", 0), lasting("volvox_healthy", 1), 15),
    "VolvoxNodeDown": (lasting("up", 0, NODE), lasting("up", 1, NODE) + lasting("up", 0), 15),
    "VolvoxNodeLost": (jump("volvox_cluster_deaths_total"), rest("volvox_cluster_deaths_total"), 15),
    "VolvoxNoNodes": (lasting("volvox_cluster_members", 0),
                      lasting("volvox_cluster_members", 1) + lasting("volvox_cluster_members", 0, NODE), 15),
    "VolvoxActorsFail": (jump("volvox_actor_restarts_total"), rest("volvox_actor_restarts_total"), 15),
    "VolvoxDescriptorsShort": (lasting("process_open_fds", 95) + lasting("process_max_fds", 100),
                               lasting("process_open_fds", 85) + lasting("process_max_fds", 100), 15),
    "VolvoxKeysUnreadable": (lasting("volvox_client_keys_unreadable", 1), lasting("volvox_client_keys_unreadable", 0), 15),
    "VolvoxCertificateExpiresSoon": (expiry(13), expiry(15), 15),
    "VolvoxCertificateExpires": (expiry(1), expiry(3), 15),
    "VolvoxDeviceDown": (lasting("volvox_device_up", 0, DEVICE), lasting("volvox_device_up", 1, DEVICE), 15),
    "VolvoxDeviceErrors": (jump("volvox_engine_failed_total", DEVICE), rest("volvox_engine_failed_total", DEVICE), 15),
    "VolvoxQueueStuck": (lasting("volvox_stuck_queues", 1, DEVICE), lasting("volvox_stuck_queues", 0, DEVICE), 15),
    "VolvoxNothingRuns": (lasting("volvox_ready_nodes", 5, DEVICE) + lasting("volvox_tasks_total", 40, DEVICE),
                          lasting("volvox_ready_nodes", 5, DEVICE) + [series("volvox_tasks_total", steps(40, 1, 15), DEVICE)], 15),
    "VolvoxSaturated": (lasting("volvox_backlog_seconds", 2),
                        [series("volvox_backlog_seconds", "2 2 2 2 0 2 2 2 2 0 2 2 2 2 0 2")], 15),
    "VolvoxOverloaded": (requests(15, ok=980, overloaded=20), requests(15, ok=995, overloaded=5), 15),
    "VolvoxDeadlinesMissed": (requests(15, ok=980, deadline_exceeded=20), requests(15, ok=995, deadline_exceeded=5), 15),
    "VolvoxStateMemoryFull": (
        lasting("volvox_waiting_requests", 3, DEVICE) + [series("volvox_slots_reserved", "98x15", DEVICE, 'pool="m/1"'),
                                                         series("volvox_slots", "100x15", DEVICE, 'pool="m/1"')],
        lasting("volvox_waiting_requests", 3, DEVICE) + [series("volvox_slots_reserved", "90x15", DEVICE, 'pool="m/1"'),
                                                         series("volvox_slots", "100x15", DEVICE, 'pool="m/1"')], 15),
    "VolvoxClientsDoNotRead": ([series("volvox_replies_dropped_total", steps(0, 1, 15))], rest("volvox_replies_dropped_total"), 15),
    "VolvoxInternalErrors": (requests(15, ok=1000, internal=1), requests(15, ok=1000, internal=0), 15),
    "VolvoxSessionsLost": (jump("volvox_sessions_ended_total", NODE, 'reason="lost"'),
                           jump("volvox_sessions_ended_total", NODE, 'reason="expired"')
                           + rest("volvox_sessions_ended_total", NODE, 'reason="lost"'), 15),
    "VolvoxFaultsBurnFast": (requests(60, ok=980, unavailable=20), requests(60, ok=995, unavailable=5), 60),
    "VolvoxFaultsBurnSlowly": (requests(420, ok=9980, overloaded=20), requests(420, ok=9995, overloaded=5), 420),
    "VolvoxSlow": (latencies(60, 1000, 800), latencies(60, 1000, 950), 60),
}  # fmt: skip
# The other ways in which an alert with an `or` fires.
ALSO = {
    "VolvoxSessionsLost": (jump("volvox_requests_total", AT, 'outcome="session_lost"'), 15),
    "VolvoxFaultsBurnFast": (requests(360, ok=990, internal=10), 360),
    "VolvoxSlow": (latencies(360, 1000, 930), 360),
}
# Half of the requests went wrong for 50 minutes, and none does any more: nobody is called.
OVER = {
    "VolvoxFaultsBurnFast": ([series("volvox_requests_total", "0+500x50 25000x40", AT, 'outcome="internal"'),
                              series("volvox_requests_total", steps(0, 500, 90), AT, 'outcome="ok"')], 90),
    "VolvoxSlow": ([series("volvox_request_total_seconds_bucket", "0+500x50 25000+1000x40", AT, 'le="0.25"'),
                    series("volvox_request_total_seconds_count", steps(0, 1000, 90))], 90),
}  # fmt: skip


def alerts():
    """Each alert, and the labels that what it says speaks of."""
    found = {}
    for block in re.split(r"^ +- alert: ", (RULES / "alerts.yml").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        found[block.split()[0]] = sorted(set(re.findall(r"\$labels\.(\w+)", block)))
    return found


def looks(alert, labels, data, minute, fires):
    """One test as promtool reads it."""
    where = "".join(f',{label}!=""' for label in labels)
    question = f'count(ALERTS{{alertname="{alert}",alertstate="firing"{where}}})'
    samples = [{"labels": "{}", "value": 1}] if fires else []
    return {"interval": "1m", "name": f"{alert} {'fires' if fires else 'is silent'}", "input_series": data,
            "promql_expr_test": [{"expr": question, "eval_time": f"{minute}m", "exp_samples": samples}]}  # fmt: skip


def promtool(*arguments):
    done = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


class Rules(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def run_tests(self, tests):
        # JSON is YAML, too.
        file = self.folder / "tests.yml"
        rules = {"rule_files": [str(RULES / name) for name in FILES], "evaluation_interval": "1m", "tests": tests}
        file.write_text(json.dumps(rules), encoding="utf-8")
        return promtool("test", "rules", file)

    def test_prometheus_takes_the_configuration(self):
        status, said = promtool("check", "config", RULES / "prometheus.yml")
        self.assertEqual(status, 0, said)
        for name in FILES:
            self.assertIn(name, said)

    def test_each_alert_fires_and_is_silent(self):
        labels = alerts()
        self.assertEqual(set(CASES), set(labels))
        tests = []
        for alert, (fires, silent, minute) in CASES.items():
            tests += [looks(alert, labels[alert], fires, minute, True), looks(alert, labels[alert], silent, minute, False)]
        tests += [looks(alert, labels[alert], data, minute, True) for alert, (data, minute) in ALSO.items()]
        tests += [looks(alert, labels[alert], data, minute, False) for alert, (data, minute) in OVER.items()]
        status, said = self.run_tests(tests)
        self.assertEqual(status, 0, said)

    def test_a_wrong_case_is_noticed(self):
        fires, silent, minute = CASES["VolvoxDown"]
        for data, expected in ((fires, False), (silent, True)):
            status, _ = self.run_tests([looks("VolvoxDown", [], data, minute, expected)])
            self.assertNotEqual(status, 0)


if __name__ == "__main__":
    if not shutil.which("promtool"):
        print("skipped: there is no promtool here (Debian: prometheus)")
        sys.exit(SKIPPED)
    unittest.main()
