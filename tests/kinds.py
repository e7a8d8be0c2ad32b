"""Small models of every kind that `volvox models new` writes, for tests and measurements."""

import re
import subprocess

VOCABULARY = 50
SIZES = {"--hidden": "12", "--vocabulary": str(VOCABULARY), "--steps": "15", "--labels": "6"}


def all_kinds(volvox):
    """The kinds, as the program lists them."""
    text = subprocess.run([volvox, "models", "new", "--help"], check=True, capture_output=True).stdout.decode()
    return re.findall(r"^  ([a-z][a-z0-9_]*)\b", text.partition("\nKinds:\n")[2], re.MULTILINE)


def write_kind(volvox, kind, folder):
    """Writes a model of the kind to `folder`: of the sizes, those that the kind has."""
    command, sizes = [volvox, "models", "new", kind, str(folder)], []
    for size, value in SIZES.items():
        tried = subprocess.run([*command, "--overwrite", size, value], capture_output=True, check=False)
        sizes += [size, value] if tried.returncode == 0 else []
    subprocess.run([*command, "--overwrite", *sizes], check=True, stdout=subprocess.DEVNULL)
