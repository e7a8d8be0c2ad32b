#!/usr/bin/env bash
# Builds Volvox and runs its tests, from a fresh clone on, with all the set-up that they need.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: tests/run.sh [--full] [--allow-skip NAME]… [--jobs N] [--no-install] [--help]

Installs what is missing, builds the release preset with warnings as errors, checks the format of the
sources, and runs the unit tests, the checks of the tree and the system tests. The last line is
`N passed, N failed, N skipped`; the exit status is 0 only when something ran and nothing failed.

  --full             also: shellcheck; a build and the unit tests under clang, and clang-tidy; all tests
                     under AddressSanitizer with UndefinedBehaviorSanitizer, and under ThreadSanitizer;
                     the fuzzers, a minute each; the long tests. A skipped test is a failure, unless --allow-skip names it.
  --allow-skip NAME  let the case NAME ("Suite.Case", a shell pattern) be skipped; may be repeated
  --jobs N           build and test N at a time (default: the number of cores)
  --no-install       do not install packages; fail later if some are missing
  --help             print this text

Builds go to build/PRESET, what each step printed to build/logs.
USAGE
}

say() { printf 'run.sh: %4d s: %s\n' "$((SECONDS))" "$*"; }

# step NAME COMMAND…: runs one check, keeps what it prints, shows the end of that when the check fails.
step() {
  local name=$1 log="$logs/${1//[^a-zA-Z0-9]/-}.log" start=$SECONDS
  shift
  say "$name …"
  if "$@" >"$log" 2>&1; then
    say "$name: ok ($((SECONDS - start)) s)"
    printf 'passed %s\n' "$name" >>"$steps"
  else
    tail -n 80 "$log"
    say "$name: FAILED ($((SECONDS - start)) s); all of it: $log"
    printf 'failed %s\n' "$name" >>"$steps"
    return 1
  fi
}

# Prints the files that match any of the patterns: the tracked ones, or all in a tree without git.
files() {
  if git ls-files --error-unmatch tests/run.sh >/dev/null 2>&1; then
    git ls-files -- "$@"
  else
    local wanted=() pattern
    for pattern in "$@"; do wanted+=(-o -name "$pattern"); done
    find . \( -path ./build -o -path ./.git -o -path ./models \) -prune -o -type f \( "${wanted[@]:1}" \) -print
  fi
}

check_format() { files '*.h' '*.cc' '*.cu' '*.cuh' | xargs -r clang-format --dry-run -Werror; }

check_shell() { { files '*.sh'; echo .ci/run; } | xargs shellcheck; }

# Over what the clang preset compiles, generated files left out; its commands fit clang-tidy.
check_tidy() {
  files '*.cc' | sed 's|^\./||' | while read -r file; do
    if grep -qF "\"file\": \"$PWD/$file\"" build/clang/compile_commands.json; then printf '%s\n' "$file"; fi
  done | xargs -P "$jobs" -n 1 clang-tidy -p build/clang --quiet --warnings-as-errors='*'
}

build() {
  step "configure $1" cmake --preset "$1" && step "build $1" cmake --build --preset "$1" --parallel "$jobs"
}

# run_tests PRESET LABELS: leaves ctest's report for the tally; what failed is shown.
run_tests() {
  local results="build/$1/test-results" start=$SECONDS
  rm -rf "$results"
  mkdir -p "$results"
  builds+=("build/$1")
  say "test $1 ($2) …"
  if ctest --test-dir "build/$1" --label-regex "^($2)\$" --parallel "$jobs" --output-on-failure \
    --output-junit test-results/ctest.xml >"$logs/test-$1.log" 2>&1; then
    say "test $1: ok ($((SECONDS - start)) s)"
  else
    cat "$logs/test-$1.log"
    say "test $1: FAILED ($((SECONDS - start)) s)"
    status=1
  fi
}

build_and_test() {
  if build "$1"; then run_tests "$1" "$2"; fi
}

main() {
  local install=() tally=()
  $full && install=(--dev) && tally=(--skips-fail)
  if $may_install; then step "packages" deploy/install-deps.sh "${install[@]}" || true; fi
  step "format" check_format || true
  if $full; then
    step "shell scripts" check_shell || true
    build_and_test release 'unit|tree|system|long'
    build_and_test clang unit
    step "clang-tidy" check_tidy || true
    build_and_test asan 'unit|system'
    build_and_test tsan 'unit|system'
    step "fuzzers" tests/fuzz/run.sh --jobs "$jobs" || true
  else
    build_and_test release 'unit|tree|system'
  fi
  say "finished"
  python3 tests/tally.py --steps "$steps" "${tally[@]}" "${allow_skip[@]}" "${builds[@]}" || status=1
  return "$status"
}

full=false
may_install=true
allow_skip=()
jobs=$(nproc)
while [[ $# -gt 0 ]]; do
  case "$1" in
    --full) full=true ;;
    --no-install) may_install=false ;;
    --allow-skip | --jobs)
      [[ $# -ge 2 ]] || { echo "run.sh: $1 needs a value" >&2; exit 2; }
      if [[ "$1" == --jobs ]]; then jobs=$2; else allow_skip+=(--allow-skip "$2"); fi
      shift
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      echo "run.sh: unknown option: $1 (see --help)" >&2
      exit 2
      ;;
  esac
  shift
done
[[ "$jobs" =~ ^[1-9][0-9]*$ ]] || { echo "run.sh: --jobs needs a number, not '$jobs'" >&2; exit 2; }

cd "$(dirname "${BASH_SOURCE[0]}")/.."
logs=build/logs
mkdir -p "$logs"
steps="$logs/steps"
: >"$steps"
builds=()
status=0
main
