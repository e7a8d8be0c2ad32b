#!/usr/bin/env python3
"""Shows that tally.py counts what ran, and calls nothing a success that is none."""

import contextlib
import io
import pathlib
import tempfile
import unittest

import tally

PASSED = '<testcase name="passes" classname="S" result="completed"/>'
SKIPPED = '<testcase name="skips" classname="S" result="skipped"><skipped/></testcase>'
DISABLED = '<testcase name="DISABLED_x" classname="S" status="notrun" result="suppressed"/>'
FAILED = '<testcase name="fails" classname="S" result="completed"><failure/></testcase>'


def ctest(*tests):
    return "".join(f'<testcase name="{name}" status="{status}">{inner}</testcase>' for name, status, inner in tests)


class TallyTest(unittest.TestCase):
    def run_tally(self, reports, steps="", options=()):
        """Exit status and last line for the given reports (name to content) of one build."""
        status, lines = self.told(reports, steps, options)
        return status, lines[-1]

    def told(self, reports, steps="", options=()):
        """Exit status and all lines."""
        with tempfile.TemporaryDirectory() as folder:
            results = pathlib.Path(folder, "release", "test-results")
            results.mkdir(parents=True)
            pathlib.Path(folder, "steps").write_text(steps, encoding="utf-8")
            for name, cases in reports.items():
                (results / f"{name}.xml").write_text(f"<testsuites>{cases}</testsuites>", encoding="utf-8")
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                status = tally.main(["--steps", f"{folder}/steps", *options, f"{folder}/release"])
            return status, output.getvalue().splitlines()

    def test_cases_steps_and_plain_tests_are_counted(self):
        reports = {"ctest": ctest(("prog", "run", ""), ("script", "run", "")), "prog": PASSED * 3}
        self.assertEqual(self.run_tally(reports, "passed format\n"), (0, "5 passed, 0 failed, 0 skipped"))

    def test_failed_case_fails(self):
        reports = {"ctest": ctest(("prog", "fail", "")), "prog": PASSED + FAILED}
        self.assertEqual(self.run_tally(reports), (1, "1 passed, 1 failed, 0 skipped"))

    def test_crash_after_the_last_case_fails(self):
        reports = {"ctest": ctest(("prog", "fail", "")), "prog": PASSED}
        self.assertEqual(self.run_tally(reports), (1, "1 passed, 1 failed, 0 skipped"))

    def test_crash_without_a_report_fails(self):
        self.assertEqual(self.run_tally({"ctest": ctest(("prog", "fail", ""))}), (1, "0 passed, 1 failed, 0 skipped"))

    def test_what_failed_says_why_at_the_end(self):
        said = "\n".join(f"line {i}" for i in range(30))
        why = '<failure message="expected 1&#10;got 2"/>'
        reports = {
            "ctest": ctest(("script", "fail", f"<system-out>{said}\n</system-out>"), ("prog", "fail", ""), ("other", "run", "")),
            "prog": SKIPPED + FAILED.replace("<failure/>", why),
        }
        status, lines = self.told(reports)
        self.assertEqual(status, 1)
        self.assertEqual(lines[:2], ["skipped: release: prog: S.skips", "failed: release: script (ended badly)"])
        self.assertEqual(lines[2:17], [f"    line {i}" for i in range(15, 30)])
        self.assertEqual(lines[17:-1], ["failed: release: prog: S.fails", "    expected 1", "    got 2"])

    def test_program_that_was_not_built_fails(self):
        missing = '<skipped message="Unable to find executable"/>'
        self.assertEqual(self.run_tally({"ctest": ctest(("prog", "notrun", missing))}), (1, "0 passed, 1 failed, 0 skipped"))

    def test_nothing_ran_is_a_failure(self):
        self.assertEqual(self.run_tally({"ctest": ""}), (1, "0 passed, 1 failed, 0 skipped"))
        self.assertEqual(self.run_tally({}), (1, "0 passed, 1 failed, 0 skipped"))
        self.assertEqual(self.run_tally({"ctest": ctest(("prog", "run", "")), "prog": ""})[0], 1)

    def test_failed_step_fails(self):
        reports = {"ctest": ctest(("script", "run", ""))}
        self.assertEqual(self.run_tally(reports, "failed format\n"), (1, "1 passed, 1 failed, 0 skipped"))

    def test_skips_fail_only_where_asked_and_not_allowed(self):
        reports = {"ctest": ctest(("prog", "run", "")), "prog": PASSED + SKIPPED + DISABLED}
        line = "1 passed, 0 failed, 2 skipped"
        self.assertEqual(self.run_tally(reports), (0, line))
        self.assertEqual(self.run_tally(reports, options=["--skips-fail"]), (1, line))
        self.assertEqual(self.run_tally(reports, options=["--skips-fail", "--allow-skip", "S.skips"]), (1, line))
        self.assertEqual(self.run_tally(reports, options=["--skips-fail", "--allow-skip", "S.*"]), (0, line))

    def test_skip_that_ctest_saw_counts(self):
        reports = {"ctest": ctest(("ok", "run", ""), ("script", "notrun", '<skipped message="SKIP_RETURN_CODE=77"/>'))}
        self.assertEqual(self.run_tally(reports, options=["--skips-fail"]), (1, "1 passed, 0 failed, 1 skipped"))
        allowed = ["--skips-fail", "--allow-skip", "script"]
        self.assertEqual(self.run_tally(reports, options=allowed), (0, "1 passed, 0 failed, 1 skipped"))


if __name__ == "__main__":
    unittest.main()
