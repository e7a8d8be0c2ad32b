#!/usr/bin/env python3
"""Checks the sources against the rules of the house: who may include whom, what stays pure, how files look.

Usage: check_tree.py [--root DIR] includes|purity|sources|classes|style …

Prints one line for each offence, `file:line: the line: why`, and fails when there is any.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

import class_lines
import rules

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]')
CPP_SUFFIXES = (".h", ".cc", ".cu", ".cuh")
STRING_OR_COMMENT = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'', re.DOTALL
)
SKIPPED_FOLDERS = re.compile(r"^(\.git|build.*|models|shared|__pycache__)$")


def tracked_files(root):
    """The files under version control, or all files in a tree that was unpacked without it."""
    if (root / ".git").exists() and shutil.which("git"):
        listing = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, check=False)
        if listing.returncode == 0:
            paths = [pathlib.PurePosixPath(name.decode()) for name in listing.stdout.split(b"\0") if name]
            return sorted(path for path in paths if (root / path).is_file())
    found = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return sorted(path for path in found if not any(SKIPPED_FOLDERS.match(part) for part in path.parts[:-1]))


class Tree:
    """The files of one tree, and the offences found in them."""

    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self.files = tracked_files(self.root)
        self.offences = []

    def text(self, path):
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    def lines(self, path):
        return self.text(path).splitlines()

    def offend(self, path, number, line, why):
        self.offences.append(f"{path}:{number}: {line.strip()}: {why}")

    def sources_of(self, layers):
        return [path for path in self.files if path.parts[0] in layers and path.suffix in CPP_SUFFIXES]

    def includes(self, path):
        """(line number, line, is quoted, name) of every include."""
        for number, line in enumerate(self.lines(path), 1):
            match = INCLUDE.match(line)
            if match:
                yield number, line, match.group(1) == '"', match.group(2)


def check_includes(tree):
    """An include never goes up, and never to a library that the layer must not know."""
    for path in tree.sources_of(rules.LAYERS):
        layer = path.parts[0]
        allowed = (layer, *rules.MAY_INCLUDE[layer])
        for number, line, quoted, name in tree.includes(path):
            folder = name.split("/")[0]
            if folder in rules.LAYERS and "/" in name and folder not in allowed:
                tree.offend(path, number, line, f"{layer} may not include {folder}")
            if quoted and not (tree.root / name).is_file() and not rules.GENERATED.search(name):
                tree.offend(path, number, line, "includes name a file from the root of the tree")
            for folders, headers, why in rules.FORBIDDEN_HEADERS:
                if layer in folders and re.match(headers, name):
                    tree.offend(path, number, line, why)
    check_backends_named(tree)


def check_backends_named(tree):
    """In simulation only the bench names a backend: the rest runs on the device interface."""
    for path in tree.sources_of(("simulation",)):
        for number, line, _, name in tree.includes(path):
            if name.split("/")[0] in ("cpu", "gpu") and path.parts[1] != "bench":
                tree.offend(path, number, line, "in simulation only the bench may name a backend")


def code_of(text):
    """The text with comments and strings blanked out, so that line numbers stay true."""
    return STRING_OR_COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def check_purity(tree):
    """No clock, thread or hidden state where decisions are made; no CUDA in a header that others see."""
    for path in tree.sources_of(rules.LAYERS):
        lines = tree.lines(path)
        for number, code in enumerate(code_of(tree.text(path)).splitlines(), 1):
            for folders, pattern, why in rules.FORBIDDEN_CODE:
                if path.parts[0] in folders and pattern.search(code):
                    tree.offend(path, number, lines[number - 1], why)
            if path.suffix == ".h" and path.parts[0] != "gpu" and rules.CUDA_IN_HEADER.search(code):
                tree.offend(path, number, lines[number - 1], "public headers know nothing of CUDA")


def globbed(cmake, path):
    """Whether a file(GLOB …) of a CMakeLists.txt takes the path, which is relative to it."""
    patterns = (word for call in re.findall(r"file\(GLOB ([^)]*)\)", cmake) for word in call.split() if "*" in word)
    return any(path.match(pattern) and len(path.parts) == len(pathlib.PurePath(pattern).parts) for pattern in patterns)


def check_sources(tree):
    """Every source is built, and x.cc includes x.h first (which proves that x.h compiles alone)."""
    known = set(tree.files)
    for path in tree.files:
        if path.suffix != ".cc":
            continue
        lists = [parent / "CMakeLists.txt" for parent in path.parents]
        # By its name, or as what a function of that list makes a source of: `volvox_command(serve …)`.
        named = re.compile(rf"\b{re.escape(path.name)}\b|\({re.escape(path.stem)}\b")
        # Or as one of a folder's sources, which the list takes all of: `file(GLOB … ops/*.cc)`.
        taken = [built for built in lists if built in known and named.search(tree.text(built))]
        taken += [built for built in lists if built in known and globbed(tree.text(built), path.relative_to(built.parent))]
        if not taken:
            tree.offend(path, 1, path.name, "no CMakeLists.txt builds this file")
        header = path.with_suffix(".h")
        first = next(tree.includes(path), None)
        if header in known and (first is None or first[3] != str(header)):
            tree.offend(path, first[0] if first else 1, first[1] if first else "", f'the first include is "{header}"')


def check_classes(tree):
    """No class is larger than a file may be, over however many files it is spread; and no two have one name, which a linker
    would take for one."""
    definitions = []
    for path in tree.sources_of(rules.LAYERS):
        reader = class_lines.Reader(path, code_of(tree.text(path)))
        definitions += reader.definitions
        if not reader.balanced:
            tree.offend(path, 1, path.name, "its braces do not match, so that nobody can count the lines of its classes")
    places = {}
    for found in definitions:
        if found.is_class and len(found.names) == 1:
            places.setdefault((found.scope, found.names), {}).setdefault(found.path, found)
    for (scope, names), found in places.items():
        if len(found) > 1:
            files = ", ".join(map(str, sorted(found)))
            first = min(found.values(), key=lambda definition: definition.path)
            tree.offend(first.path, first.first, "::".join((*scope, *names)), f"classes of one name in {files}")
    for found in class_lines.count(definitions):
        if found.lines > rules.MAX_CLASS_LINES:
            files = ", ".join(map(str, sorted(found.paths)))
            tree.offend(
                found.path, found.first, found.name, f"{found.lines} lines of one class ({files}); at most {rules.MAX_CLASS_LINES}"
            )


def check_style(tree):
    """Small files, nothing left for later, nothing that exists on one machine only."""
    for path in tree.files:
        if not path.name.endswith(rules.TEXT_SUFFIXES):
            continue
        lines = tree.lines(path)
        if len(lines) > rules.MAX_LINES and path.name.endswith(rules.CODE_SUFFIXES):
            tree.offend(path, len(lines), "", f"{len(lines)} lines; at most {rules.MAX_LINES}")
        if path.suffix == ".h" and not any(line.startswith("#pragma once") for line in lines):
            tree.offend(path, 1, "", "a header begins with #pragma once")
        if lines and lines[0].startswith("#!") and not os.access(path, os.X_OK):
            tree.offend(path, 1, lines[0], "a program must be executable")
        for number, line in enumerate(lines, 1):
            if rules.UNFINISHED.search(line):
                tree.offend(path, number, line, "finish it, or file an issue")
            if rules.MACHINE_PATH.search(line):
                tree.offend(path, number, line, "names a path of one machine")


CHECKS = {
    "includes": check_includes,
    "purity": check_purity,
    "sources": check_sources,
    "classes": check_classes,
    "style": check_style,
}


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parents[2], help="the tree to check")
    parser.add_argument("checks", nargs="+", choices=sorted(CHECKS), metavar="CHECK", help="|".join(CHECKS))
    options = parser.parse_args(arguments)
    tree = Tree(options.root)
    if not tree.files:
        print(f"{options.root}: no files to check")
        return 1
    for name in options.checks:
        CHECKS[name](tree)
    print("\n".join(tree.offences) if tree.offences else f"{len(tree.files)} files, no offence")
    return 1 if tree.offences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
