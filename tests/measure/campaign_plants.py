"""Mistakes that are planted in a copy of Volvox, to see whether the campaign's checker finds them: plants/NAME.patch."""

import json
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PLANTS = HERE / "plants"
SECONDS = 30
# What the checker must call each.
FOUND_AS = {"kept": "answer of an earlier part", "twice": "part run twice", "lost": "answer lost"}


def tracked_files():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split("\0") if name]


def copy_tree(scratch):
    """The working tree as it is; files that are the same keep their times, so that little is built anew."""
    for name in tracked_files():
        source, target = ROOT / name, scratch / name
        if not source.exists() or (target.exists() and target.read_bytes() == source.read_bytes()):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)


def plant(name):
    """The command that does it, in the tree where it is run."""
    return ["patch", "--strip=1", "--forward", f"--input={PLANTS / name}.patch"]


def build(name, scratch):
    """The executable with this mistake in it."""
    copy_tree(scratch)
    subprocess.run([*plant(name), "--silent"], cwd=scratch, check=True)
    subprocess.run(["cmake", "--preset", "release"], cwd=scratch, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", "build/release", "-j2", "volvox"], cwd=scratch, check=True, stdout=subprocess.DEVNULL)
    return scratch / "build/release/volvox"


def find(name, volvox, results):
    """Whether the checker finds it, by its name, in J0."""
    command = [sys.executable, "-B", str(HERE / "campaign.py"), "--volvox", str(volvox), "--only", "J0", "--seconds", str(SECONDS)]
    subprocess.run([*command, "--results", str(results)], check=False, stdout=subprocess.DEVNULL)
    report = json.loads((results / "J0.json").read_text(encoding="utf-8"))
    kinds = report.get("violations_by_kind", {})
    found = FOUND_AS[name] in kinds
    print(f"{name}: {'found' if found else 'NOT FOUND'} as '{FOUND_AS[name]}'; {report['status']}, {kinds}", flush=True)
    return found


def find_all(arguments):
    """The exit status."""
    scratch = ROOT / "build/plants"
    found = []
    for name in FOUND_AS:
        results = pathlib.Path(arguments.results) / f"planted-{name}"
        found.append(find(name, build(name, scratch), results))
    return 0 if all(found) else 1
