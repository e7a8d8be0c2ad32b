#!/usr/bin/env bash
# Proves and measures the GPU backend on a machine that is lent for minutes.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: gpu/check.sh pack DIR [--arch CC] [--lengths FILE] [--trees FILE]
       gpu/check.sh A|B [--with DIR] [--out DIR] [--after FILE] [--limit S] [--box S]
                        [--only REGEX]

pack, on a Debian machine with CUDA 13: builds the engine's benchmark, its GPU tests and the probes for one kind of
GPU, so that they start on any x86-64 Linux with a driver, and puts them into DIR (at most 64 MiB) with what it takes
to build them again there, should they not start.

  --arch CC       compute capability without its dot (default 90: H100, H200)
  --lengths FILE  real lengths, one a line, for the load; made up where there are none
  --trees FILE    real trees in brackets, one a line; where there are none, of made-up shapes, and not beside PyTorch's

A and B, on the machine with the GPU, one right after the other: A (at most 480 s) tells whether it runs, what the
machine charges, and where each kernel stands beside its product; B (at most 420 s) tests suite by suite and runs the
engine, sanitizers and the profiler. Whatever one of their stages does, the others run. DIR gets summary.json (figures
beside what was predicted, what became of each stage), table.md and logs.tar.gz, whole after each stage.

  --with DIR      what pack collected (default: gpu/pack)
  --out DIR       where results go (default: $OUT, or gpu/results/last)
  --after FILE    B: the summary.json of A, for what is set beside it
  --limit S       seconds in all
  --box S         seconds that a stage gets at most, for those whose own box is larger
  --only REGEX    only the stages whose name it matches from its begin, where something was mended

Exit status: 0 all passed; 1 something failed; 2 wrong usage; 3 there is no GPU here.
USAGE
}

wrong() {
  usage >&2
  exit 2
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[[ $# -gt 0 ]] || wrong
what=$1
shift
pack=$root/gpu/pack out=${OUT:-$root/gpu/results/last} arch=90 lengths="" trees="" after=() limit=() box=() only=()
case "$what" in
  pack)
    [[ $# -gt 0 && "$1" != -* ]] || wrong
    pack=$1
    shift
    ;;
  A | B) ;;
  -h | --help)
    usage
    exit 0
    ;;
  *) wrong ;;
esac
while [[ $# -gt 0 ]]; do
  [[ $# -ge 2 ]] || wrong
  case "$1" in
    --with) pack=$2 ;;
    --out) out=$2 ;;
    --arch) arch=$2 ;;
    --lengths) lengths=$2 ;;
    --trees) trees=$2 ;;
    --after) after=(--after "$2") ;;
    --limit) limit=(--limit "$2") ;;
    --box) box=(--box "$2") ;;
    --only) only=(--only "$2") ;;
    *) wrong ;;
  esac
  shift 2
done

# Files of a Debian package, in their folders, below $pack.
copy_package() {
  local file
  dpkg -L "$1" | while read -r file; do
    if [[ -f "$file" && "$file" =~ ^/usr/(include|src|share/cmake) ]]; then install -C -D -m 644 "$file" "$pack$file"; fi
  done
}

copy_sources() {
  local package
  for package in libtomlplusplus-dev nlohmann-json3-dev libcli11-dev libexpected-dev googletest; do
    copy_package "$package"
  done
  # Debian's toml++ is a shared library; its headers alone do as well.
  install -d "$pack/usr/lib/cmake/tomlplusplus"
  cat >"$pack/usr/lib/cmake/tomlplusplus/tomlplusplusConfig.cmake" <<'END'
add_library(tomlplusplus::tomlplusplus INTERFACE IMPORTED)
get_filename_component(_usr "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
target_include_directories(tomlplusplus::tomlplusplus INTERFACE "${_usr}/include")
END
}

programs=(volvox-bench unit_gpu volvox-gpu-probes)
[[ ! -e "$root/gpu/check/hopper_steps.cu" ]] || programs+=(volvox-gpu-steps)

# build FOLDER: the programs, static but for what every Linux and the driver have. Libraries from the pack. One that
# cannot be built keeps nobody from the others.
build() {
  local folder=$1 generator=() name status=0
  if command -v ninja >/dev/null; then generator=(-G Ninja); fi
  cmake -S "$pack/usr/src/googletest" -B "$folder/gtest-build" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_POLICY_VERSION_MINIMUM=3.5 "-DCMAKE_INSTALL_PREFIX=$folder/gtest"
  cmake --build "$folder/gtest-build" --parallel "$(nproc)" --target install
  # Warnings are for who changes the code: a compiler that nobody has tried must not end the check.
  cmake -S "$root" -B "$folder/engine" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DVOLVOX_ENGINE_ONLY=ON \
    -DVOLVOX_WERROR=OFF -DCMAKE_DISABLE_FIND_PACKAGE_OneDNN=ON "-DCMAKE_CUDA_ARCHITECTURES=$arch-real" \
    "-DCMAKE_EXE_LINKER_FLAGS=-static-libstdc++ -static-libgcc" "-DCMAKE_PREFIX_PATH=$folder/gtest;$pack/usr"
  for name in "${programs[@]}"; do
    cmake --build "$folder/engine" --parallel "$(nproc)" --target "$name" || status=1
    find "$folder/engine" -name "$name" -type f -perm -u+x -exec install -D -m 755 {} "$folder/bin/$name" \;
  done
  return $status
}

make_lengths() {
  if [[ -n "$lengths" ]]; then
    awk 'NF && $1 ~ /^[0-9]+$/ { print $1 } NR == 20000 { exit }' "$lengths" >"$pack/lengths.txt"
  else
    python3 -c 'import random
random.seed(1)
for _ in range(8192): print(max(1, min(330, round(random.lognormvariate(2.97, 0.65)))))' >"$pack/lengths.txt"
  fi
}

if [[ "$what" == pack ]]; then
  mkdir -p "$pack"
  pack=$(cd "$pack" && pwd)
  copy_sources
  make_lengths
  [[ -z "$trees" ]] || install -m 644 "$trees" "$pack/trees.txt"
  build "$root/build/gpu-check"
  mkdir -p "$pack/bin"
  for name in "${programs[@]}"; do strip -o "$pack/bin/$name" "$root/build/gpu-check/bin/$name"; done
  size=$(du -sm "$pack" | cut -f1)
  echo "$pack: $size MiB"
  [[ $size -le 64 ]] || { echo "check.sh: the pack is larger than 64 MiB" >&2; exit 1; }
  exit 0
fi

mkdir -p "$out"
# Where nvidia-smi is missing or hangs, but the driver's device is there, the programs say what is wrong.
if ! said=$(timeout 20 nvidia-smi -L 2>&1) && [[ ! -e /dev/nvidiactl ]]; then
  echo "check.sh: there is no GPU here: $said" | tee "$out/no-gpu.log" >&2
  echo '{"failed": ["there is no GPU here: no-gpu.log"], "figures": {}, "stages": {}}' >"$out/summary.json"
  exit 3
fi
echo "$said"
if [[ -d "$pack" ]]; then
  pack=$(cd "$pack" && pwd)
else
  echo "check.sh: there is no pack at $pack: what needs its programs will fail; was it carried here?" >&2
  pack=$(mktemp -d)
  make_lengths
fi
bin=$pack/bin
# What a Python package of this machine brought counts as well.
site=$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' 2>/dev/null || true)
if [[ -n "$site" && -d "$site/nvidia" ]]; then
  folders=$(find "$site/nvidia" -type d -name lib | tr '\n' ':')
  export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folders"
  for header in cublasLt.h cudnn.h; do
    if [[ -e "${CUDA_HOME:-/usr/local/cuda}/include/$header" || -e "/usr/include/$header" ]]; then continue; fi
    folder=$(find "$site/nvidia" -name "$header" -printf '%h' -quit)
    [[ -z "$folder" ]] || export CPATH="${CPATH:+$CPATH:}$folder" CMAKE_INCLUDE_PATH="${CMAKE_INCLUDE_PATH:+$CMAKE_INCLUDE_PATH:}$folder"
  done
fi
if ! "$bin/volvox-bench" --help >/dev/null 2>&1 || ! "$bin/unit_gpu" --gtest_list_tests >/dev/null 2>&1; then
  echo "check.sh: the programs of the pack do not start here; building them"
  begin=$SECONDS
  capability=$(timeout 20 nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .) || true
  arch=${capability:-$arch}
  if ! timeout -k 5 300 bash -c "$(declare -f build); root='$root' pack='$pack' arch='$arch' programs=(${programs[*]}); set -e
      build '$pack/build'" >"$out/build.log" 2>&1; then
    tail -n 20 "$out/build.log" >&2
    echo "check.sh: they cannot be built here either; the stages that need them will say so" >&2
  fi
  [[ ! -d "$pack/build/bin" ]] || bin=$pack/build/bin
  [[ ${#limit[@]} -gt 0 ]] || limit=(--limit "$(($([[ "$what" == A ]] && echo 540 || echo 480) - (SECONDS - begin)))")
fi
over_trees=()
[[ ! -e "$pack/trees.txt" ]] || over_trees=(--trees "$pack/trees.txt")
exec python3 "$root/gpu/check/check.py" "$what" --bin "$bin" --lengths "$pack/lengths.txt" "${over_trees[@]}" --out "$out" \
  "${after[@]}" "${limit[@]}" "${box[@]}" "${only[@]}"
