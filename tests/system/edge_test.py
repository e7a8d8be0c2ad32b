"""A server at whose door strangers do their worst, in short: whether it lives, answers others, and keeps within its bounds.

Usage: edge_test.py PATH_OF_VOLVOX [--preload LIBRARY] [unittest's options]

tests/measure/edge.py does the same with 10,000 connections. The library makes rand() a known number; left out with sanitizers, which
take memory and time of their own.
"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "measure"))

import edge  # noqa: E402

VOLVOX, PRELOAD = sys.argv.pop(1), ""
if sys.argv[1:2] == ["--preload"]:
    PRELOAD = sys.argv.pop(2)
    sys.argv.pop(1)


class Strangers(unittest.TestCase):
    def setUp(self):
        edge.raise_own_limit()
        self.door = edge.Door(VOLVOX, PRELOAD, connections=500)

    def check(self, name):
        figures = getattr(self.door, name)()
        self.assertTrue(figures["holds"], figures)

    def test_nobody_chooses_an_id(self):
        self.check("forged")

    def test_nobody_chooses_an_id_with_keys(self):
        self.check("forged_keys")

    @unittest.skipUnless(PRELOAD, "sanitizers take memory of their own")
    def test_who_does_not_read_is_closed_at_its_bound(self):
        self.check("deaf")
        self.check("deaf_small")

    @unittest.skipUnless(PRELOAD, "sanitizers take memory of their own")
    def test_unfinished_messages_stay_within_their_bound(self):
        self.check("unfinished")
        self.check("unfinished_small")

    @unittest.skipUnless(PRELOAD, "sanitizers take memory of their own")
    def test_endless_messages_are_closed(self):
        self.check("endless")

    @unittest.skipUnless(PRELOAD, "sanitizers take time of their own")
    def test_nothing_spins_without_descriptors(self):
        self.check("descriptors")


if __name__ == "__main__":
    unittest.main()
