"""unittest's main() for tests that this machine may be unable to run: then the status is 77, which ctest reports as skipped."""

import sys
import unittest

SKIPPED = 77


def main():
    """Status 1 when a test failed, 77 when one was skipped, else 0: a program that skipped anything has not passed."""
    result = unittest.main(module="__main__", exit=False).result
    for test, why in result.skipped:
        print(f"SKIPPED: {test}: {why}")
    sys.exit(1 if not result.wasSuccessful() else SKIPPED if result.skipped else 0)
