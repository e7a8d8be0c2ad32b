#!/usr/bin/env bash
# Builds the fuzzers and lets each look for inputs that the decoders and loaders cannot stand.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: tests/fuzz/run.sh [--seconds S] [--jobs N] [--help] [NAME …]

NAME: request, http, …: a source NAME_fuzz.cc of this folder.

Builds the preset `fuzz` (clang, libFuzzer, AddressSanitizer, UndefinedBehaviorSanitizer) and runs the fuzzers
named, or all, for S seconds each (default 60), one after the other. What they learn stays in build/fuzz/corpus
for the next run. An input that breaks something is left in build/fuzz/found, and the exit status is 1:

  build/fuzz/tests/fuzz/request_fuzz build/fuzz/found/request-crash-…      shows it again

  --seconds S   how long each runs
  --jobs N      build N files at a time (default: the number of cores)
  --help        print this text
USAGE
}

die() {
  printf 'fuzz: error: %s\n' "$*" >&2
  exit 2
}

# Prints the largest input: beyond the bounds that its decoder knows, where that is no more than mutation can fill.
largest() {
  case "$1" in
    cluster) echo 524288 ;;  # two messages of 256 KiB
    request | reply | http) echo 20000 ;;  # headers of 4 KiB
    onnx) echo 20000 ;;  # a detector of speech, small
    *) echo 8192 ;;
  esac
}

# Inputs are small: a decoder that takes 5 s, 1 GiB, or 256 MiB at once for one has been talked into something.
fuzz() {
  local name=$1 corpus="build/fuzz/corpus/$1" log="build/fuzz/found/$1.log"
  local words=()
  mkdir -p "$corpus" "build/fuzz/seeds/$name"  # not every fuzzer has seeds
  [[ $name != model && $name != toml && $name != http ]] || words=(-dict=tests/fuzz/texts.dict)
  printf 'fuzz: %s for %d s …\n' "$name" "$seconds"
  if "$programs/${name}_fuzz" -max_total_time="$seconds" -max_len="$(largest "$name")" -timeout=5 -rss_limit_mb=1024 \
    -malloc_limit_mb=256 \
    -artifact_prefix="build/fuzz/found/$name-" -print_final_stats=1 "${words[@]}" "$corpus" "build/fuzz/seeds/$name" \
    >"$log" 2>&1; then
    printf 'fuzz: %s: clean, %s inputs, %s kept\n' "$name" \
      "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" "$(find "$corpus" -type f | wc -l)"
  else
    tail -n 60 "$log"
    printf 'fuzz: %s: FAILED; all of it: %s\n' "$name" "$log"
    return 1
  fi
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
seconds=60
jobs=$(nproc)
names=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    --seconds | --jobs)
      [[ $# -ge 2 && "$2" =~ ^[1-9][0-9]*$ ]] || die "$1 needs a positive whole number"
      printf -v "${1#--}" '%s' "$2"
      shift
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      [[ -f "$here/${1}_fuzz.cc" ]] || die "unknown argument: $1 (see --help)"
      names+=("$1")
      ;;
  esac
  shift
done
if [[ ${#names[@]} -eq 0 ]]; then
  for source in "$here"/*_fuzz.cc; do names+=("$(basename "$source" _fuzz.cc)"); done
fi

cd "$here/../.."
programs=build/fuzz/tests/fuzz
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --parallel "$jobs"
mkdir -p build/fuzz/found
rm -rf build/fuzz/seeds
"$programs/make_seeds" build/fuzz/seeds tests/golden
cp config/example.toml build/fuzz/seeds/toml/example
status=0
for name in "${names[@]}"; do
  fuzz "$name" || status=1
done
exit "$status"
