#!/usr/bin/env bash
# Proves that a plug-in is its own files and nothing else: takes it out, builds, and runs all other tests.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: tests/tree/without.sh PART [--jobs N] [--tests REGEX] [--help]

Copies the committed and the staged files to build/without/PART, deletes the files of PART there, builds the
rest (preset release) and runs its tests.

PART:
  tree        the unfolding `tree`, its cells and its tests
  lstm        the CPU's fused kernel for LSTMs and its tests
  gpu-lstm    the same of the GPU, with its variant for Hopper
  gpu-hopper  that variant alone

  --jobs N       build N files at a time (default: the number of cores)
  --tests REGEX  run only the tests whose names match
  --help         print this text
USAGE
}

die() {
  printf 'without: error: %s\n' "$*" >&2
  exit 2
}

# The files of a part, as patterns for paths from the root.
files_of() {
  case "$1" in
    tree) printf '%s\n' '^cells/unfold/tree/' '^cells/library/(check_tree|child_sum|tree_lstm)\.' \
      '^tests/(unit|system|fuzz)/(.*/)?(tree_|random_tree\.)[^/]*$' ;;
    lstm) printf '%s\n' '^cpu/fused/lstm[^/]*$' '^tests/unit/cpu/fused/lstm[^/]*$' ;;
    gpu-lstm) printf '%s\n' '^gpu/fused/lstm[^/]*$' '^tests/unit/gpu/fused/lstm[^/]*$' && files_of gpu-hopper ;;
    gpu-hopper) printf '%s\n' '^gpu/(fused|check)/hopper_[^/]*$' '^tests/unit/gpu/fused/hopper_[^/]*$' ;;
    *) die "there is no part '$1'; there are tree, lstm, gpu-lstm, gpu-hopper" ;;
  esac
}

part=
jobs=$(nproc)
tests=.
while [[ $# -gt 0 ]]; do
  case "$1" in
    --jobs | --tests)
      [[ $# -ge 2 ]] || die "$1 needs a value"
      printf -v "${1#--}" '%s' "$2"
      shift
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      [[ -z "$part" ]] || die "unknown argument: $1 (see --help)"
      part=$1
      ;;
  esac
  shift
done
[[ -n "$part" ]] || die "which part? (see --help)"
[[ "$jobs" =~ ^[1-9][0-9]*$ ]] || die "--jobs needs a positive whole number"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
patterns=$(files_of "$part")
copy=build/without/$part
mkdir -p "$copy"
# What is gone or changed since the last time goes; what is the same keeps its time, so that little is built anew.
find "$copy" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
git ls-files -z | tar --null --files-from=- --create | tar --extract --directory="$copy"
mapfile -t gone < <(cd "$copy" && find . -type f ! -path './build/*' -printf '%P\n' | grep -E -f <(printf '%s\n' "$patterns") | sort)
[[ ${#gone[@]} -gt 0 ]] || die "nothing is part of '$part'"
printf 'without: %s\n' "${gone[@]}"
cd "$copy"
rm -- "${gone[@]}"
find cells cpu gpu tests -type d -empty -delete
# The tree's own checks ask git which files there are.
[[ -d .git ]] || git init --quiet .
git add --all
cmake --preset release >/dev/null
cmake --build --preset release --parallel "$jobs"
ctest --test-dir build/release --label-regex '^(unit|tree|system)$' --tests-regex "$tests" --parallel 2 --output-on-failure
