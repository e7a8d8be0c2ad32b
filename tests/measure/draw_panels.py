#!/usr/bin/env python3
"""Draws what the dashboards show of a real cluster, from a real Prometheus' answers: docs/dashboards/*.svg.

Usage: draw_panels.py [--volvox PATH] [--seconds S] [--into FOLDER]

A router and two nodes serve an LSTM and a translator. A steady load and sessions run all the time; there is a burst in the
middle, and then a node is killed and started again. Needs the Debian packages prometheus and python3-matplotlib.
"""

import argparse
import pathlib
import re
import signal
import sys
import tempfile
import time

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "monitoring/grafana")]

import make_dashboards  # noqa: E402
from watched_cluster import WatchedCluster, as_grafana_asks  # noqa: E402

COLUMNS, MOST_LINES, WIDTH, HEIGHT = 3, 6, 5.2, 2.6  # panels beside each other; in a legend; inches
LSTM = ("--model", "lstm", "--vocabulary", 100)
TRANSLATOR = ("--model", "translator", "--vocabulary", 100)
MODELS = [("lstm", "lstm", "--hidden", 128, "--vocabulary", 100), ("seq2seq", "translator", "--hidden", 64, "--vocabulary", 100)]
NAMES = {"s": "seconds", "percentunit": "share", "reqps": "a second", "ops": "a second", "rowsps": "rows a second", "d": "days", "short": ""}


def happenings(watched, seconds):
    """What happens to the cluster, for so long."""
    lasting = ("--seconds", 10 * seconds)
    watched.load(*LSTM, *lasting, "--rate", 120)
    watched.load(*TRANSLATOR, *lasting, "--rate", 25)
    watched.load(*LSTM, *lasting, "--sessions", 12, "--pause-ms", 100, "--length", 6)
    time.sleep(seconds * 0.4)
    watched.load(*LSTM, "--seconds", seconds * 0.2, "--concurrency", 96)
    time.sleep(seconds * 0.35)
    node = watched.cluster.nodes[1]
    node.send(signal.SIGKILL)
    time.sleep(seconds * 0.1)
    node.start()
    time.sleep(seconds * 0.15)


def named(legend, labels):
    return re.sub(r"\{\{(\w+)\}\}", lambda match: labels.get(match.group(1), ""), legend)


def draw_lines(axes, panel, ask):
    lines = [(named(legend, labels), points) for expression, legend in panel.queries for labels, points in ask(expression)]
    lines.sort(key=lambda line: -max(value for _, value in line[1]))
    for label, points in lines[:MOST_LINES]:
        axes.plot([moment for moment, _ in points], [value for _, value in points], linewidth=1, label=label)
    axes.set_ylim(bottom=0)
    if lines:
        axes.legend(fontsize=6, loc="upper left", framealpha=0.6)


def draw_heat(axes, panel, ask):
    """Columns are moments, rows are buckets; a bucket has what those below it have not."""
    ((expression, _),) = panel.queries
    series = sorted(((float(labels["le"]), dict(points)) for labels, points in ask(expression)), key=lambda one: one[0])
    moments = sorted({moment for _, points in series for moment in points})
    heights = [[points.get(moment, 0) for moment in moments] for _, points in series]
    own = [heights[0]] + [[max(0, a - b) for a, b in zip(upper, lower)] for lower, upper in zip(heights, heights[1:])]
    used = [i for i, row in enumerate(own) if any(row)] or [0]
    first, last = used[0], used[-1]
    axes.imshow(own[first:last + 1], aspect="auto", origin="lower", cmap="Oranges", interpolation="nearest",
                extent=(moments[0], moments[-1], -0.5, last - first + 0.5))  # fmt: skip
    axes.set_yticks(range(last - first + 1), [f"{end:g}" for end, _ in series[first:last + 1]])


def draw(name, ask, file):
    _, rows, _, _ = make_dashboards.DASHBOARDS[name]
    panels = [panel for members in rows.values() for panel in members if panel.kind != "stat"]
    height = (len(panels) + COLUMNS - 1) // COLUMNS
    figure, grid = pyplot.subplots(height, COLUMNS, figsize=(COLUMNS * WIDTH, height * HEIGHT), squeeze=False)
    for i, axes in enumerate(grid.flat):
        if i >= len(panels):
            axes.set_visible(False)
            continue
        (draw_heat if panels[i].kind == "heatmap" else draw_lines)(axes, panels[i], ask)
        axes.set_title(panels[i].title, fontsize=9)
        axes.set_ylabel(NAMES.get(panels[i].unit, panels[i].unit), fontsize=7)
        axes.tick_params(labelsize=6)
        axes.xaxis.set_major_formatter(lambda moment, _: f"{moment:.0f} s")
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})
    pyplot.close(figure)
    file.write_text(smaller(file.read_text(encoding="utf-8")), encoding="utf-8")


def smaller(drawing):
    """A tenth of a point is enough for lines; and every reader of SVG knows the long names of what a font is."""
    drawing = re.sub(r"font: ([\d.]+px) ([^;\"]+)", r"font-size: \1; font-family: 'DejaVu Sans', sans-serif", drawing)
    return re.sub(r'(?<= d=")[^"]*', lambda path: re.sub(r"(\d+\.\d)\d+", r"\1", path.group()), drawing)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--volvox", default=str(ROOT / "build/release/volvox"))
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--into", default=str(ROOT / "docs/dashboards"))
    options = parser.parse_args()
    matplotlib.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "volvox"}
    into = pathlib.Path(options.into)
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        watched = WatchedCluster(options.volvox, folder, MODELS)
        try:
            begin = time.time()
            happenings(watched, options.seconds)
            for name in make_dashboards.DASHBOARDS:
                def ask(expression, of=name):
                    found = watched.prometheus.query_range(as_grafana_asks(of, expression), time.time() - begin)
                    return [(labels, [(moment - begin, value) for moment, value in points]) for labels, points in found]

                draw(name, ask, into / f"{name}.svg")
        finally:
            watched.end()


if __name__ == "__main__":
    main()
