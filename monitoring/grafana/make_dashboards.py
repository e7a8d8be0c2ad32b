#!/usr/bin/env python3
"""Writes dashboards/*.json, the Grafana dashboards (Grafana 9 or later).

Usage: make_dashboards.py [--check]

Panels are described here, because a dashboard's JSON is too long to be read. --check writes nothing, and fails when a file is
not what this script would write. `queries()` lists what all panels ask, for tests and for whoever draws them.
"""

import json
import pathlib
import sys

FOLDER = pathlib.Path(__file__).with_name("dashboards")
COLUMNS, HEIGHT = 24, 8  # of the grid; of a panel
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
# Of the processes that were chosen.
SELECT = 'job=~"$job",instance=~"$instance"'
CHOSEN_MODEL = ',model=~"$model"'


def series(metric, where=""):
    return f"{metric}{{{SELECT}{where}}}"


def summed(inner, by):
    return f"sum by ({by}) ({inner})" if by else f"sum({inner})"


def gauge(metric, by="", where=""):
    return summed(series(metric, where), by)


def rate(metric, by="", where=""):
    """A second."""
    return summed(f"rate({series(metric, where)}[$__rate_interval])", by)


def grown(metric, by="", where=""):
    """By how much between two points of the panel."""
    return summed(f"increase({series(metric, where)}[$__rate_interval])", by)


def quantile(q, metric, by="", where=""):
    return f"histogram_quantile({q}, {rate(metric + '_bucket', f'le, {by}' if by else 'le', where)})"


def latency(metric):
    return [(quantile(q, metric), f"p{q * 100:g}") for q in (0.5, 0.9, 0.99)]


def ratio(part, whole, by=""):
    return f"{rate(part, by)} / {rate(whole, by)}"


def mean(metric, by, where=""):
    return f"{rate(metric + '_sum', by, where)} / {rate(metric + '_count', by, where)}"


class Panel:
    """A place on a dashboard. `queries`: expressions, each with what its lines are called. `kind`: as Grafana names it."""

    def __init__(self, title, unit, queries, meaning, kind="timeseries", width=8):
        self.title, self.unit, self.queries, self.meaning, self.kind, self.width = title, unit, queries, meaning, kind, width

    def json(self, number, x, y):
        targets = [{"refId": chr(ord("A") + i), "datasource": SOURCE, "expr": expression, "legendFormat": legend, **self.shape()}
                   for i, (expression, legend) in enumerate(self.queries)]  # fmt: skip
        panel = {"id": number, "type": self.kind, "title": self.title, "description": self.meaning, "datasource": SOURCE,
                 "gridPos": {"x": x, "y": y, "w": self.width, "h": HEIGHT if self.kind != "stat" else 4}, "targets": targets,
                 "fieldConfig": {"defaults": {"unit": self.unit, "min": 0}, "overrides": []}}  # fmt: skip
        if self.kind == "heatmap":
            del panel["fieldConfig"]["defaults"]["min"]
            panel["options"] = {"calculate": False, "yAxis": {"unit": self.unit}, "color": {"mode": "scheme", "scheme": "Oranges"}}
        if self.kind == "stat":
            panel["options"] = {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}}
        return panel

    def shape(self):
        return {"format": "heatmap"} if self.kind == "heatmap" else {}


def number(title, unit, expression, meaning):
    """One number, large."""
    return Panel(title, unit, [(expression, "")], meaning, kind="stat", width=4)


def buckets(title, unit, metric, meaning, where=""):
    """How many had which size, over time."""
    return Panel(title, unit, [(grown(metric + "_bucket", "le", where), "{{le}}")], meaning, kind="heatmap")


FAULTS = ',outcome=~"internal|unavailable|overloaded|session_lost"'

CLUSTER = {
    "Now": [
        number("Requests a second", "reqps", rate("volvox_requests_total"), "Answers of all outcomes, as clients saw them."),
        number("p99", "s", quantile(0.99, "volvox_request_total_seconds"), "Arrival to reply, results only."),
        number("Faults", "percentunit", f"{rate('volvox_requests_total', where=FAULTS)} / {rate('volvox_requests_total')}",
               "Requests that ended in a fault of the service."),
        number("In flight", "short", gauge("volvox_requests_in_flight"), "Accepted and not answered."),
        number("Nodes", "short", 'min(volvox_cluster_members{job=~"$job",job!="volvox-nodes"})', "Of the router that has fewest."),
        number("Processes that answer", "short", 'sum(up{job=~"$job|volvox-nodes"})', "Servers, routers and nodes."),
    ],
    "Requests": [
        Panel("Requests by outcome", "reqps", [(rate("volvox_requests_total", "outcome"), "{{outcome}}")],
              "Answers a second, refusals included. `overloaded` for long: add servers. `internal`: see the log."),
        Panel("Total latency", "s", latency("volvox_request_total_seconds"), "Arrival to reply, results only."),
        buckets("How long requests take", "s", "volvox_request_total_seconds", "Results, by the time from arrival to reply."),
        Panel("Queue time", "s", latency("volvox_request_queue_seconds"), "Arrival to the first cell's submission."),
        Panel("Compute time", "s", latency("volvox_request_compute_seconds"), "First cell's submission to the last one's end."),
        Panel("Refused", "reqps", [(rate("volvox_refused_total", "bound"), "{{bound}}")],
              "At which bound: all in flight, those of one client or key, results that wait, deadlines that cannot be met."),
    ],
    "Models": [
        Panel("Requests a model", "reqps", [(rate("volvox_model_requests_total", "model, door", ',outcome="ok"'), "{{model}} {{door}}")],
              "Answered with a result, by the door through which they came."),
        Panel("Failures a model", "reqps", [(rate("volvox_model_requests_total", "model, outcome", ',outcome!="ok"'),
                                             "{{model}} {{outcome}}")],
              "A model that fails while others do not: see the log."),
        Panel("p99 a model", "s", [(quantile(0.99, "volvox_model_request_seconds", "model"), "{{model}}")],
              "From a model's own, coarser buckets."),
    ],
    "Service level": [
        Panel("Faults, by window", "percentunit", [(f'job:volvox_faults:ratio{window}{{job=~"$job"}}', window)
                                                   for window in ("5m", "1h", "6h", "3d")],
              "Shares of requests. 0.1 % is what the service level allows; people are called at 1.44 % over an hour."),
        Panel("Late results, by window", "percentunit", [(f'job:volvox_slow:ratio{window}{{job=~"$job"}}', window)
                                                         for window in ("5m", "1h", "6h")],
              "Shares of results that took more than 0.25 s. 1 % is what the service level allows."),
        Panel("Alerts", "short", [('sum by (alertname) (ALERTS{alertstate="firing",alertname=~"Volvox.*"}) or vector(0)',
                                   "{{alertname}}")], "Those that fire; 0: none."),
    ],
    "Routers and nodes": [
        Panel("Nodes", "short", [(gauge("volvox_cluster_members", "instance"), "{{instance}}")], "That each router has as members."),
        Panel("Requests on nodes", "short", [(gauge("volvox_cluster_requests_in_flight", "instance"), "{{instance}}")],
              "Of each router."),
        Panel("Nodes that failed", "short", [(grown("volvox_cluster_suspicions_total"), "silent"),
                                             (grown("volvox_cluster_deaths_total"), "taken for dead"),
                                             (grown("volvox_cluster_joins_total"), "joined")],
              "As routers saw it."),
        Panel("Tried again", "reqps", [(rate("volvox_cluster_retries_total"), "requests that another node got"),
                                       (rate("volvox_cluster_late_answers_total"), "late answers, dropped")],
              "Nothing of this is seen by clients, but for the time."),
        Panel("Links", "bytes", [(gauge("volvox_cluster_queued_bytes", "instance"), "{{instance}}")], "Bytes that wait to be sent."),
        Panel("Certificates", "d", [(f"min by (instance) ({series('volvox_certificate_expiry_timestamp_seconds')} - time()) / 86400",
                                     "{{instance}}")], "Days until the first one ends."),
    ],
    "Clients": [
        Panel("Connections", "short", [(gauge("volvox_connections", "instance"), "{{instance}} ZeroMQ"),
                                       (gauge("volvox_http_connections", "instance"), "{{instance}} HTTP")], "That are open."),
        Panel("Connections refused or closed", "short", [(grown("volvox_connections_refused_total", "bound"), "refused: {{bound}}"),
                                                         (grown("volvox_connections_closed_total", "reason"), "closed: {{reason}}"),
                                                         (grown("volvox_http_connections_refused_total"), "refused: HTTP")],
              "Too many, of all or of one; or they held too much, or nothing."),
        Panel("Clients that do not listen", "short", [(grown("volvox_lost_clients_total", "reason"), "lost: {{reason}}"),
                                                      (grown("volvox_replies_dropped_total"), "replies dropped")],
              "Clients that are gone, or do not read."),
    ],
}  # fmt: skip

BATCHING = {
    "Batches": [
        Panel("Mean batch", "short", [(mean("volvox_batch_rows", "model, type", CHOSEN_MODEL), "{{model}} {{type}}")],
              "Rows of a task. Under a backlog it should approach the model's largest batch."),
        buckets("Batch sizes", "short", "volvox_batch_rows", "Tasks, by their rows.", CHOSEN_MODEL),
        Panel("Cells and tasks a second", "ops", [(rate("volvox_cells_total"), "cells"), (rate("volvox_tasks_total"), "tasks")],
              "What was run for requests, and in how many batched tasks."),
    ],
    "What waits": [
        Panel("Ready cells", "short", [(gauge("volvox_ready_nodes", "model, type", CHOSEN_MODEL), "{{model}} {{type}}")],
              "Cells that could run now: the backlog below requests."),
        Panel("Running tasks", "short", [(gauge("volvox_running_tasks", "model, type", CHOSEN_MODEL), "{{model}} {{type}}")],
              "Submitted to queues and not done."),
        Panel("Requests", "short", [(gauge("volvox_model_live_requests", "model", CHOSEN_MODEL), "{{model}} in the scheduler"),
                                    (gauge("volvox_model_waiting_requests", "model", CHOSEN_MODEL), "{{model}} not begun")],
              "Of each model."),
    ],
    "Waste": [
        Panel("Rows that were padding, or moved", "percentunit",
              [(ratio("volvox_rows_padding_total", "volvox_rows_executed_total"), "padding"),
               (ratio("volvox_rows_moved_total", "volvox_rows_executed_total"), "moved")],
              "Shares of all rows executed."),
        Panel("Padding by type", "rowsps", [(rate("volvox_type_padding_rows_total", "model, type", CHOSEN_MODEL), "{{model}} {{type}}")],
              "Rows a second that computed nothing anybody wanted."),
        Panel("CPU outside kernels, a cell", "s",
              [(f"{rate('volvox_cpu_seconds_total', where=',where=' + chr(34) + 'outside_kernels' + chr(34))} / {rate('volvox_cells_total')}",
                "a cell")],
              "What everything around the kernels costs."),
    ],
    "Where": [
        Panel("Which cells run where", "ops", [(rate("volvox_batch_rows_sum", "instance, device, model, type", CHOSEN_MODEL),
                                                "{{instance}} {{device}}: {{model}} {{type}}")],
              "Rows a second that belong to requests.", width=12),
        Panel("Device time of models", "percentunit", [(rate("volvox_model_device_seconds_total", "instance, device, model", CHOSEN_MODEL),
                                                        "{{instance}} {{device}}: {{model}}")],
              "Seconds a second, by the measured cost of tasks: what model[].weight shares.", width=12),
    ],
}  # fmt: skip

NODE = {
    "Devices": [
        Panel("Devices that are well", "short", [(gauge("volvox_device_up", "instance, device"), "{{instance}} {{device}}")],
              "1: nothing is wrong; 0: /readyz says what."),
        Panel("Time inside kernels", "percentunit", [(rate("volvox_kernel_seconds_total", "instance, device"), "{{instance}} {{device}}")],
              "Queues that are busy; 1 for each queue that never idles."),
        Panel("Cells a second", "ops", [(rate("volvox_cells_total", "instance, device"), "{{instance}} {{device}}")], "Run for requests."),
        Panel("Requests on devices", "short", [(gauge("volvox_live_requests", "instance, device"), "{{instance}} {{device}}: hold state"),
                                               (gauge("volvox_waiting_requests", "instance, device"), "{{instance}} {{device}}: wait")],
              "Those that wait find no state memory, or it is not their client's turn."),
        Panel("State memory", "percentunit", [(f"max by (instance, device) ({series('volvox_slots_reserved')} / {series('volvox_slots')})",
                                               "{{instance}} {{device}}: reserved"),
                                              (f"max by (instance, device) ({series('volvox_slots_used')} / {series('volvox_slots')})",
                                               "{{instance}} {{device}}: used")],
              "Of the fullest pool. Requests wait when all is reserved: give more device.state_mib."),
        Panel("What ended badly", "short", [(grown("volvox_engine_failed_total", "instance, device"), "{{instance}} {{device}}: failed"),
                                            (grown("volvox_engine_expired_total", "instance, device"), "{{instance}} {{device}}: too late"),
                                            (grown("volvox_engine_cancelled_total", "instance, device"), "{{instance}} {{device}}: cancelled"),
                                            (gauge("volvox_stuck_queues", "instance, device"), "{{instance}} {{device}}: stuck queues")],
              "Requests on the device; queues whose task does not end."),
    ],
    "Models": [
        Panel("Models", "short", [(gauge("volvox_models", "instance, state"), "{{instance}} {{state}}")], "Versions on the device."),
        Panel("Their state memory", "bytes", [(gauge("volvox_model_state_bytes", "instance"), "{{instance}}")],
              "Of all pools, of device.state_mib."),
        Panel("Backlog", "s", [(gauge("volvox_backlog_seconds", "instance"), "{{instance}}")],
              "Estimated time that all accepted requests will take."),
    ],
    "The process": [
        Panel("Processor", "short", [(rate("process_cpu_seconds_total", "instance"), "{{instance}}")], "Cores in use."),
        Panel("Memory", "bytes", [(gauge("process_resident_memory_bytes", "instance"), "{{instance}}")], "Resident."),
        Panel("File descriptors", "short", [(gauge("process_open_fds", "instance"), "{{instance}} open"),
                                            (gauge("process_max_fds", "instance"), "{{instance}} at most")], ""),
        Panel("Up time", "s", [(f"time() - {gauge('process_start_time_seconds', 'instance')}", "{{instance}}")], "Since the start."),
        Panel("Versions", "short", [(gauge("volvox_build_info", "version"), "{{version}}")], "Processes of each."),
        Panel("What went wrong", "short",
              [(grown("volvox_actor_restarts_total"), "actors replaced"), (grown("volvox_stuck_tasks_total"), "tasks that took too long"),
               (grown("volvox_reruns_total"), "requests run again"), (grown("volvox_log_lines_dropped_total"), "lines of the log lost"),
               (grown("volvox_accept_failures_total"), "connections not accepted"),
               (grown("volvox_http_connections_cut_total"), "slow HTTP clients cut")],
              "All of this should stay 0."),
    ],
}  # fmt: skip

SESSIONS = {
    "Sessions": [
        Panel("Sessions", "short", [(gauge("volvox_sessions", "state"), "{{state}}")], "Live, ending, and ended but remembered."),
        Panel("Begun and ended", "ops", [(rate("volvox_sessions_begun_total"), "begun"),
                                         (rate("volvox_sessions_ended_total", "reason"), "{{reason}}")],
              "`lost`: something that held them went away."),
        Panel("Parts", "ops", [(rate("volvox_session_parts_total", "outcome"), "{{outcome}}")],
              "Parts a second that were committed or failed; requests that were repeats, or refused."),
        Panel("Parts without an answer", "short", [(gauge("volvox_session_parts", "state"), "{{state}}"),
                                                   (gauge("volvox_session_parked_parts"), "their predecessor is missing"),
                                                   (gauge("volvox_sessions_in_line"), "sessions in line for slots")],
              "In line for long: raise sessions.max_resident."),
    ],
    "Their states": [
        Panel("Where states are", "short", [(gauge("volvox_session_states", "where"), "{{where}}")], "On the device, on the host, copying."),
        Panel("Copies", "ops", [(rate("volvox_session_spills_total"), "to the host"), (rate("volvox_session_restores_total"), "back"),
                                (rate("volvox_session_moves_total"), "between devices"),
                                (rate("volvox_session_failed_spills_total"), "no memory on the host")],
              "States a second. Many: raise sessions.max_resident."),
        Panel("Memory", "bytes", [(gauge("volvox_session_host_bytes"), "states on the host"),
                                  (gauge("volvox_session_kept_bytes"), "answers kept for repeats"),
                                  (gauge("volvox_session_parked_bytes"), "parts that wait")], ""),
    ],
    "Their clients": [
        Panel("Clients", "short", [(gauge("volvox_session_clients"), "with sessions"),
                                   (f"max({series('volvox_session_biggest_client', ',of=' + chr(34) + 'sessions' + chr(34))})",
                                    "sessions of the one with most")], ""),
        Panel("Refused", "short", [(grown("volvox_session_share_refusals_total"), "more than its share"),
                                   (grown("volvox_session_conflicts_total"), "other content under a number that was taken"),
                                   (grown("volvox_session_parked_too_long_total"), "the part before it did not come"),
                                   (grown("volvox_sessions_gave_way_total"), "gave way to clients that have less")], ""),
        Panel("Undecided", "short", [(grown("volvox_cluster_undecided_parts_total"), "parts")],
              "Of which a router had to say that nobody knows whether they were done. Needs the job of the routers."),
    ],
}  # fmt: skip

# file: (title, rows, the job that is chosen at first, whether models can be chosen)
DASHBOARDS = {
    "cluster": ("Cluster", CLUSTER, "volvox", False),
    "batching": ("Batching", BATCHING, "All", True),
    "node": ("Node", NODE, "All", False),
    "sessions": ("Sessions", SESSIONS, "All", False),
}


def panels(rows):
    made, y = [], 0
    for heading, members in rows.items():
        made.append({"id": len(made) + 1, "type": "row", "title": heading, "collapsed": False, "panels": [],
                     "gridPos": {"x": 0, "y": y, "w": COLUMNS, "h": 1}})  # fmt: skip
        x, y = 0, y + 1
        for member in members:
            if x + member.width > COLUMNS:
                x, y = 0, y + made[-1]["gridPos"]["h"]
            made.append(member.json(len(made) + 1, x, y))
            x += member.width
        y += made[-1]["gridPos"]["h"]
    return made


def variable(name, query, first="All", **more):
    """Without an `allValue`, All is each value that `query` finds: other processes have a `job`, too."""
    chosen = {"text": "All", "value": "$__all"} if first == "All" else {"text": [first], "value": [first]}
    return {"name": name, "type": "query", "query": query, "datasource": SOURCE, "multi": True,
            "includeAll": True, "refresh": 2, "sort": 1, "current": {"selected": True, **chosen}, **more}  # fmt: skip


def dashboard(name):
    title, rows, job, models = DASHBOARDS[name]
    variables = [{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"},
                 variable("job", "label_values(volvox_build_info, job)", job),
                 variable("instance", 'label_values(volvox_build_info{job=~"$job"}, instance)', allValue=".*")]  # fmt: skip
    if models:
        variables.append(variable("model", 'label_values(volvox_batch_rows_count{job=~"$job"}, model)', allValue=".*"))
    others = {"type": "dashboards", "title": "Volvox", "tags": ["volvox"], "asDropdown": True, "includeVars": False,
              "keepTime": True, "targetBlank": False, "icon": "", "tooltip": "", "url": ""}  # fmt: skip
    return {"title": f"Volvox: {title}", "uid": f"volvox-{name}", "tags": ["volvox"], "schemaVersion": 36, "refresh": "10s",
            "editable": True, "time": {"from": "now-30m", "to": "now"}, "links": [others], "panels": panels(rows),
            "templating": {"list": variables}}  # fmt: skip


def queries():
    """(dashboard, panel, expression, legend) of all targets."""
    for name, (_, rows, _, _) in DASHBOARDS.items():
        for panel in (panel for members in rows.values() for panel in members):
            yield from ((name, panel, expression, legend) for expression, legend in panel.queries)


def main():
    for name in DASHBOARDS:
        file, text = FOLDER / f"{name}.json", json.dumps(dashboard(name), indent=1) + "\n"
        if "--check" not in sys.argv[1:]:
            file.write_text(text, encoding="utf-8")
        elif file.read_text(encoding="utf-8") != text:
            sys.exit(f"{file.name} is out of date; run {pathlib.Path(__file__).name}")


if __name__ == "__main__":
    main()
