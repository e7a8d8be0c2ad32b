"""The mistakes that the campaign plants still fit the sources, and each has a name by which it must be found."""

import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import campaign_plants as plants  # noqa: E402


class Plants(unittest.TestCase):
    def test_each_has_a_name(self):
        self.assertEqual({patch.stem for patch in plants.PLANTS.glob("*.patch")}, set(plants.FOUND_AS))

    def test_each_fits(self):
        for name in plants.FOUND_AS:
            command = [*plants.plant(name), "--dry-run"]
            done = subprocess.run(command, cwd=plants.ROOT, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, f"plants/{name}.patch: {done.stdout}{done.stderr}make it anew")


if __name__ == "__main__":
    unittest.main()
