#!/usr/bin/env python3
"""Writes volvox.json, the Grafana dashboard (Grafana 9 or later): import it, and choose the Prometheus data source.

Usage: make_dashboard.py [--check]

Panels are described here, because a dashboard's JSON is too long to be read. --check writes nothing, and fails when
volvox.json is not what this script would write.
"""

import json
import pathlib
import sys

OUTPUT = pathlib.Path(__file__).with_name("volvox.json")
WIDTH, HEIGHT = 8, 8  # of a panel; a row of the grid has 24 columns
SELECT = 'job=~"$job",instance=~"$instance"'


def rate(metric, by="", where=""):
    """Per second, summed over the chosen servers."""
    inner = f"rate({metric}{{{SELECT}{where}}}[$__rate_interval])"
    return f"sum by ({by}) ({inner})" if by else f"sum({inner})"


def gauge(metric, by="", where=""):
    inner = f"{metric}{{{SELECT}{where}}}"
    return f"sum by ({by}) ({inner})" if by else f"sum({inner})"


def quantile(q, metric):
    return f"histogram_quantile({q}, {rate(metric + '_bucket', 'le')})"


def latency(metric):
    return [(quantile(q, metric), f"p{q * 100:g}") for q in (0.5, 0.9, 0.99)]


def of_ok(seconds):
    """The mean of a model's requests that were answered with a result."""
    return f"{rate(seconds + '_sum', 'model')} / {rate(seconds + '_count', 'model')}"


ROWS = {
    "Requests": [
        ("Requests by outcome", "reqps", [(rate("volvox_requests_total", "outcome"), "{{outcome}}")],
         "Answers a second, refusals included. `overloaded` for long: add servers. `internal`: see the log."),
        ("Total latency", "s", latency("volvox_request_total_seconds"), "Arrival to reply, results only."),
        ("In flight", "short", [(gauge("volvox_requests_in_flight"), "in flight"),
                                (gauge("volvox_live_requests"), "on a device"),
                                (gauge("volvox_waiting_requests"), "waiting to be let in")],
         "Accepted and not ended; what holds state; what waits to be let in."),
        ("Queue time", "s", latency("volvox_request_queue_seconds"), "Arrival to the first cell's submission."),
        ("Compute time", "s", latency("volvox_request_compute_seconds"), "First cell's submission to the last one's end."),
        ("Bytes of requests in flight", "bytes", [(gauge("volvox_request_bytes_in_flight"), "bodies")], ""),
    ],
    "Batching": [
        ("Mean batch", "short", [(f"{rate('volvox_batch_rows_sum', 'model,type')} / {rate('volvox_batch_rows_count', 'model,type')}",
                                  "{{model}} {{type}}")],
         "Rows of a task. Under a backlog it should approach the model's largest batch."),
        ("Cells and tasks a second", "ops", [(rate("volvox_cells_total"), "cells"), (rate("volvox_tasks_total"), "tasks")],
         "What was run for requests, and in how many batched tasks."),
        ("Rows that were padding, or moved", "percentunit",
         [(f"{rate('volvox_rows_padding_total')} / {rate('volvox_rows_executed_total')}", "padding"),
          (f"{rate('volvox_rows_moved_total')} / {rate('volvox_rows_executed_total')}", "moved")],
         "Shares of all rows executed."),
        ("Ready cells", "short", [(gauge("volvox_ready_nodes", "model,type"), "{{model}} {{type}}")],
         "Cells that could run now: the backlog below requests."),
        ("Running tasks", "short", [(gauge("volvox_running_tasks", "model,type"), "{{model}} {{type}}")], ""),
        ("State memory", "short", [(gauge("volvox_slots", "pool"), "{{pool}}: all"),
                                   (gauge("volvox_slots_reserved", "pool"), "{{pool}}: reserved"),
                                   (gauge("volvox_slots_used", "pool"), "{{pool}}: used")],
         "Rows of the planes. Requests wait when all are reserved: give more device.state_mib."),
    ],
    "Models": [
        ("Requests a model", "reqps", [(rate("volvox_model_requests_total", "model,outcome"), "{{model}} {{outcome}}")],
         "Those that reached the model. A model that fails while others do not: see the log."),
        ("Mean latency of a model", "s", [(of_ok("volvox_model_request_seconds"), "{{model}}")], "Arrival to reply, results only."),
        ("Its parts", "s", [(of_ok("volvox_model_queue_seconds"), "{{model}} waiting"),
                            (of_ok("volvox_model_compute_seconds"), "{{model}} running")],
         "Means. Waiting grows with load; running with the length of requests, too."),
    ],
    "Machine": [
        ("Processor and memory", "short", [(rate("process_cpu_seconds_total", "instance"), "{{instance}}: cores"),
                                           (f"{gauge('process_resident_memory_bytes', 'instance')} / 2^30", "{{instance}}: GiB")],
         "Of each process."),
        ("Time inside kernels", "percentunit", [(rate("volvox_kernel_seconds_total", "instance,device"), "{{instance}} {{device}}")],
         "Queues that are busy; 1 for each queue that never idles."),
        ("CPU outside kernels, a cell", "s",
         [(f"{rate('volvox_cpu_seconds_total', where=',where=' + chr(34) + 'outside_kernels' + chr(34))} / {rate('volvox_cells_total')}",
           "a cell")],
         "What everything around the kernels costs."),
        ("What went wrong", "short",
         [(f"sum(increase(volvox_actor_restarts_total{{{SELECT}}}[$__rate_interval]))", "actors replaced"),
          (f"sum(increase(volvox_replies_dropped_total{{{SELECT}}}[$__rate_interval]))", "replies dropped"),
          (f"sum(increase(volvox_http_connections_cut_total{{{SELECT}}}[$__rate_interval]))", "slow HTTP clients cut")],
         "Restarts should stay 0; dropped replies mean clients that are gone or do not read."),
    ],
}


def panel(number, title, unit, queries, help_text, x, y):
    targets = [{"refId": chr(ord("A") + i), "expr": expression, "legendFormat": legend}
               for i, (expression, legend) in enumerate(queries)]  # fmt: skip
    return {"id": number, "type": "timeseries", "title": title, "description": help_text,
            "datasource": {"type": "prometheus", "uid": "$datasource"},
            "gridPos": {"x": x, "y": y, "w": WIDTH, "h": HEIGHT}, "targets": targets,
            "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []}}  # fmt: skip


def panels():
    made, y = [], 0
    for heading, members in ROWS.items():
        made.append({"id": len(made) + 1, "type": "row", "title": heading, "collapsed": False,
                     "gridPos": {"x": 0, "y": y, "w": 24, "h": 1}})  # fmt: skip
        y += 1
        for i, member in enumerate(members):
            x = WIDTH * (i % 3)
            made.append(panel(len(made) + 1, *member, x, y + HEIGHT * (i // 3)))
        y += HEIGHT * ((len(members) + 2) // 3)
    return made


def variable(name, label):
    query = f"label_values(volvox_build_info, {label})"
    return {"name": name, "type": "query", "query": query, "datasource": {"type": "prometheus", "uid": "$datasource"},
            "multi": True, "includeAll": True, "refresh": 2, "current": {"text": "All", "value": "$__all"}}  # fmt: skip


def dashboard():
    source = {"name": "datasource", "type": "datasource", "query": "prometheus"}
    return {"title": "Volvox", "uid": "volvox", "tags": ["volvox"], "schemaVersion": 36, "refresh": "10s",
            "time": {"from": "now-30m", "to": "now"}, "panels": panels(),
            "templating": {"list": [source, variable("job", "job"), variable("instance", "instance")]}}  # fmt: skip


def main():
    text = json.dumps(dashboard(), indent=1) + "\n"
    if "--check" not in sys.argv[1:]:
        OUTPUT.write_text(text, encoding="utf-8")
    elif OUTPUT.read_text(encoding="utf-8") != text:
        sys.exit(f"{OUTPUT.name} is out of date; run {pathlib.Path(__file__).name}")


if __name__ == "__main__":
    main()
