"""The campaign's scenarios (tests/measure/campaign.py) in a few seconds each: no answer is wrong, missing or doubled.

Usage: campaign_test.py VOLVOX SCENARIO,… JOBS
JOBS: scenarios at a time, as many as the executable leaves a processor to each.
The status is 77 when this machine cannot run one of them.
"""

import pathlib
import subprocess
import sys
import tempfile

CAMPAIGN = pathlib.Path(__file__).resolve().parents[1] / "measure" / "campaign.py"


def main():
    volvox, scenarios, jobs = sys.argv[1:]
    with tempfile.TemporaryDirectory() as results:
        command = [sys.executable, "-B", str(CAMPAIGN), "--volvox", volvox, "--only", scenarios, "--seconds", "8", "--jobs", jobs]
        return subprocess.run([*command, "--results", results], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
