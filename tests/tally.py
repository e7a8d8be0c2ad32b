#!/usr/bin/env python3
"""Counts what a run of the tests came to, case by case.

Usage: tally.py --steps FILE [--allow-skip NAME …] [--skips-fail] [BUILD_DIR …]

Each BUILD_DIR holds ctest's report (test-results/ctest.xml) and one report per GoogleTest program
(test-results/NAME.xml). FILE holds one line per other check: `passed NAME` or `failed NAME`. Prints what
was skipped and what failed, with the end of what it said, then `N passed, N failed, N skipped`; fails when
anything failed, when nothing ran, or, with --skips-fail, when a case was skipped whose name (a pattern) no
--allow-skip names.
"""

import argparse
import fnmatch
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


MOST_LINES = 15  # of what a failed test said: its end, where most of them say why


class Tally:
    """Names of what passed, failed and was skipped; and what those that failed said, as far as it was kept."""

    def __init__(self):
        self.passed, self.failed, self.skipped = [], [], []
        self.said = {}

    def add_steps(self, path):
        for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
            outcome, name = line.split(" ", 1)
            (self.passed if outcome == "passed" else self.failed).append(name)

    def add_build(self, build):
        """All tests that ctest ran in one build folder."""
        report = build / "test-results" / "ctest.xml"
        if not report.is_file():
            self.failed.append(f"{build.name}: ctest left no report")
            return
        tests = self.cases_of(build.name, report)
        if not tests:
            self.failed.append(f"{build.name}: ctest ran no test")
        for test in tests:
            self.add_test(build, test)

    def add_test(self, build, test):
        """One of ctest's tests; GoogleTest programs count by their cases."""
        name, status = test.get("name"), test.get("status")
        full_name = f"{build.name}: {name}"
        if status in ("notrun", "disabled"):
            self.add_not_run(full_name, test.find("skipped"))
            return
        failed_before = len(self.failed)
        cases = build / "test-results" / f"{name}.xml"
        if cases.is_file():
            self.add_cases(full_name, cases)
        elif status == "run":  # how ctest says passed
            self.passed.append(full_name)
        if status != "run" and len(self.failed) == failed_before:
            name = f"{full_name} (ended badly)"
            self.failed.append(name)
            self.said[name] = test.findtext("system-out") or ""

    def add_not_run(self, full_name, reason):
        """ctest says `notrun` of a test that skips itself, and of one whose program was not built."""
        message = reason.get("message", "") if reason is not None else "SKIP"
        if message.startswith("SKIP"):
            self.skipped.append(full_name)
        else:
            self.failed.append(f"{full_name} ({message})")

    def cases_of(self, full_name, report):
        try:
            return list(ElementTree.parse(report).getroot().iter("testcase"))
        except ElementTree.ParseError as error:
            self.failed.append(f"{full_name} ({report.name} is broken: {error})")
            return []

    def add_cases(self, full_name, report):
        """The cases of one GoogleTest program."""
        cases = self.cases_of(full_name, report)
        if not cases:
            self.failed.append(f"{full_name} (a program without a case)")
        for case in cases:
            name = f"{full_name}: {case.get('classname')}.{case.get('name')}"
            if case.find("failure") is not None:
                self.failed.append(name)
                self.said[name] = "\n".join(failure.get("message", "") for failure in case.findall("failure"))
            elif case.get("result") == "completed":
                self.passed.append(name)
            else:
                self.skipped.append(name)


def is_allowed(name, patterns):
    """Whether a pattern names the case, with or without the build and the program in front."""
    parts = name.split(": ")
    endings = [": ".join(parts[start:]) for start in range(len(parts))]
    return any(fnmatch.fnmatchcase(ending, pattern) for ending in endings for pattern in patterns)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", required=True)
    parser.add_argument("--allow-skip", action="append", default=[], metavar="NAME")
    parser.add_argument("--skips-fail", action="store_true")
    parser.add_argument("builds", nargs="*", type=pathlib.Path)
    options = parser.parse_args(arguments)

    tally = Tally()
    tally.add_steps(options.steps)
    for build in options.builds:
        tally.add_build(build)
    refused = [name for name in tally.skipped if options.skips_fail and not is_allowed(name, options.allow_skip)]
    for heading, names in (("skipped", tally.skipped), ("skipped without leave", refused), ("failed", tally.failed)):
        for name in names:
            print(f"{heading}: {name}")
            for line in tally.said.get(name, "").strip().splitlines()[-MOST_LINES:]:
                print(f"    {line}")
    print(f"{len(tally.passed)} passed, {len(tally.failed)} failed, {len(tally.skipped)} skipped")
    return 1 if tally.failed or refused or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
