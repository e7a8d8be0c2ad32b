#!/usr/bin/env python3
"""One call on a machine with a GPU: runs the stages of plan.py, and leaves what they found in --out.

Usage: check.py A|B --bin DIR --lengths FILE [--trees FILE] --out DIR [--after FILE] [--limit S] [--box S] [--only REGEX]

--bin holds volvox-bench, unit_gpu, volvox-gpu-probes and volvox-gpu-steps. --out gets summary.json (`failed`, `figures`, `not_measured`, `stages`),
table.md and logs.tar.gz, whole after each stage. Exit status: 0 all stages that ran succeeded; 1 some did not; 2 wrong usage.
"""

import argparse
import pathlib
import re
import sys
import tempfile

import plan
import stages
import summary


def read_before(path):
    """The stages of an earlier call; none where there is no such file, or it is not what check.py writes."""
    found, why = stages.read_result(pathlib.Path(path)) if path else ({}, None)
    if why:
        print(f"check.py: {path}: {why}", file=sys.stderr)
    rows = found.get("stages") if isinstance(found, dict) else None
    return {name: row for name, row in rows.items() if isinstance(row, dict)} if isinstance(rows, dict) else {}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("call", choices=plan.CALLS)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--lengths", required=True, help="file of lengths, one a line")
    parser.add_argument("--trees", default="", help="file of trees in brackets, one a line; left out: those of a made-up shape, and no peer")
    parser.add_argument("--out", required=True)
    parser.add_argument("--limit", type=float, help="seconds in all (default: A 480, B 420)")
    parser.add_argument("--after", metavar="FILE", help="summary.json of the call before, for what is set beside it")
    parser.add_argument("--box", type=float, default=float("inf"), help="seconds that a stage gets at most")
    parser.add_argument("--only", metavar="REGEX", default="", help="only the stages whose name it matches from its begin")
    options = parser.parse_args()
    before = read_before(options.after)
    half = summary.result_of(before, "torch").get("half_load")
    folder = pathlib.Path(options.bin).resolve()
    tools = plan.Tools(*(str(folder / name) for name in ("volvox-bench", "unit_gpu", "volvox-gpu-probes", "volvox-gpu-steps")),
                       str(pathlib.Path(options.lengths).resolve()), options.trees and str(pathlib.Path(options.trees).resolve()),
                       (summary.number(half.get("rate_rps")) if isinstance(half, dict) else None) or 0)  # fmt: skip
    make, limit = plan.CALLS[options.call]
    with tempfile.TemporaryDirectory() as work:
        runner = stages.Runner(options.out, work, options.limit or limit, lambda found: summary.account(found, work), summary.table,
                               lambda line: print(line, flush=True), options.box)  # fmt: skip
        runner.carry(before)
        runner.run([stage for stage in make(tools) if re.match(options.only, stage.name)])
        found = summary.account(runner.stages, work)
    print(summary.table({**found, "stages": runner.stages}))
    return 1 if found["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
