#!/usr/bin/env python3
"""Shows that the figures of a cluster's measurement see what they are to see."""

import unittest

import cluster_figures as figures

SECOND = 1_000_000


def timeline(slow_from_us, slow_until_us, slow_share):
    """Ten seconds of 100 answers a second, of 20 ms; of those that come within the given time a share is of 300 ms."""
    rows = []
    for k in range(1000):
        end = k * 10_000
        slow = slow_from_us <= end < slow_until_us and k % 100 < slow_share * 100
        rows.append((end - (300_000 if slow else 20_000), end, "OK"))
    return rows


class Recovery(unittest.TestCase):
    def recovered(self, rows):
        return figures.recovery_s(rows, 2 * SECOND, 9 * SECOND)

    def test_nothing_to_recover_from(self):
        self.assertEqual(self.recovered(timeline(0, 0, 1)), 0)

    def test_a_few_slow_answers_do_not_count(self):
        self.assertEqual(self.recovered(timeline(3 * SECOND, 4 * SECOND, 0.05)), 0)

    def test_the_last_slow_window_counts(self):
        self.assertAlmostEqual(self.recovered(timeline(2 * SECOND, 3 * SECOND, 1)), 1.4, delta=0.11)

    def test_silence_is_no_recovery(self):
        silent = [row for row in timeline(0, 0, 1) if not 3 * SECOND <= row[1] < 4 * SECOND]
        self.assertAlmostEqual(self.recovered(silent), 2, delta=0.11)


class Verdict(unittest.TestCase):
    def judge(self, late_ms=1.0, **more):
        return figures.judge({"figures": {"a": {"is": 1, "at_most": 1}} | more.pop("figures", {}), "late_ms": late_ms} | more)

    def test_of_limits(self):
        self.assertEqual(self.judge(), "holds")
        self.assertEqual(self.judge(figures={"b": {"is": 1, "at_least": 2}}), "DOES NOT HOLD")

    def test_of_a_load_that_was_late_and_of_a_busy_machine(self):
        self.assertEqual(self.judge(6.0), "void")
        self.assertEqual(self.judge(others_share=0.1), "holds")
        self.assertEqual(self.judge(others_share=0.3), "void")

    def test_percentiles(self):
        self.assertEqual(figures.percentile(range(1, 101), 0.9), 90)
        self.assertEqual(figures.percentile([7], 0.9), 7)


if __name__ == "__main__":
    unittest.main()
