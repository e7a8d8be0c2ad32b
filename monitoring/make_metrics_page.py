#!/usr/bin/env python3
"""Writes what stands below the mark in docs/metrics.md: the tables of all metrics, as the program prints them.

Usage: make_metrics_page.py PATH_OF_VOLVOX [--check]

--check writes nothing, and fails when the page is not what this script would write.
"""

import pathlib
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs/metrics.md"
MARK = "<!-- From here on it is what `volvox metrics` prints: monitoring/make_metrics_page.py writes it. -->\n"


def main():
    tables = subprocess.run([sys.argv[1], "metrics"], check=True, capture_output=True, text=True).stdout
    before = PAGE.read_text(encoding="utf-8")
    text = before.partition(MARK)[0] + MARK + "\n" + tables
    if "--check" not in sys.argv[2:]:
        PAGE.write_text(text, encoding="utf-8")
    elif before != text:
        sys.exit(f"{PAGE.name} is out of date; run {pathlib.Path(__file__).name}")


if __name__ == "__main__":
    main()
