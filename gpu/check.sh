#!/bin/bash
# Proves the GPU backend on a machine with an NVIDIA GPU, CUDA 13 and CMake: builds the engine, runs the device tests on
# the GPU, the sanitizers on a few of them, then the benchmarks beside PyTorch, and writes gpu/results/<gpu>-<date>.json
# and a table. About ten minutes on 16 cores.
#
#   gpu/check.sh [--with DIR]    DIR: what an earlier --pack collected (default: gpu/pack, where it is)
#   gpu/check.sh --pack DIR [--lengths FILE]
#                                on a Debian machine: collects the header-only libraries, GoogleTest's sources and a
#                                sample of real lengths into DIR, at most 40 MB, for a machine that has none of them
#
# Exit status: 0 all passed; 1 something failed; 2 wrong usage; 3 there is no GPU here.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build/gpu-check
pack=$root/gpu/pack
make_pack=
lengths=

usage() {
  sed -n '2,12s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

while [ $# -gt 0 ]; do
  case $1 in
    --with) [ $# -ge 2 ] || usage; pack=$2; shift 2 ;;
    --pack) [ $# -ge 2 ] || usage; make_pack=$2; shift 2 ;;
    --lengths) [ $# -ge 2 ] || usage; lengths=$2; shift 2 ;;
    *) usage ;;
  esac
done

# Files of Debian packages, in their folders, below DIR.
copy_package() {
  local package=$1 to=$2 file
  dpkg -L "$package" | while read -r file; do
    if [ -f "$file" ] && [[ $file =~ ^/usr/(include|src|lib|share/cmake) ]]; then
      install -D -m 644 "$file" "$to$file"
    fi
  done
}

collect() {
  local to=$1 package size
  mkdir -p "$to"
  for package in libtomlplusplus-dev nlohmann-json3-dev libcli11-dev libexpected-dev googletest; do
    copy_package "$package" "$to"
  done
  # Debian's toml++ is a shared library; its headers alone do as well.
  rm -rf "$to"/usr/lib
  install -d "$to/usr/lib/cmake/tomlplusplus"
  cat > "$to/usr/lib/cmake/tomlplusplus/tomlplusplusConfig.cmake" << 'END'
add_library(tomlplusplus::tomlplusplus INTERFACE IMPORTED)
get_filename_component(_usr "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
target_include_directories(tomlplusplus::tomlplusplus INTERFACE "${_usr}/include")
END
  if [ -n "$lengths" ]; then
    head -n 20000 "$lengths" > "$to/lengths.txt"
  fi
  size=$(du -sm "$to" | cut -f1)
  echo "$to: $size MB"
  [ "$size" -le 40 ] || { echo "the pack is larger than 40 MB" >&2; exit 1; }
}

if [ -n "$make_pack" ]; then
  collect "$make_pack"
  exit 0
fi

if ! said=$(nvidia-smi -L 2>&1); then
  echo "there is no GPU here: $said" >&2
  exit 3
fi
gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)
capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .)
echo "GPU: $gpu, compute capability $capability"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed() {
  echo "FAILED: $1" >&2
  echo "$1" >> "$work/failures"
}

# Libraries from the pack, where there is one; GoogleTest is built from its sources.
configure() {
  local options=(-DCMAKE_BUILD_TYPE=Release -DVOLVOX_ENGINE_ONLY=ON "-DCMAKE_CUDA_ARCHITECTURES=$capability-real")
  if [ -d "$pack/usr" ]; then
    options+=("-DCMAKE_PREFIX_PATH=$build/gtest;$pack/usr")
    cmake -S "$pack/usr/src/googletest" -B "$build/gtest-build" -DCMAKE_BUILD_TYPE=Release \
      "-DCMAKE_INSTALL_PREFIX=$build/gtest" > "$build/gtest.log"
    cmake --build "$build/gtest-build" -j "$(nproc)" --target install >> "$build/gtest.log"
  fi
  cmake -S "$root" -B "$build" "${options[@]}"
}

mkdir -p "$build"
configure
cmake --build "$build" -j "$(nproc)" --target unit_gpu volvox-bench

tests=$build/tests/unit/gpu/unit_gpu
bench=$(find "$build" -name volvox-bench -type f -perm -u+x | head -n 1)
[ -n "$bench" ] || { echo "volvox-bench was not built" >&2; exit 1; }

timeout 180 "$tests" "--gtest_output=xml:$work/tests.xml" || failed "device tests"

few='Gpu/DeviceConformance.*/Programs:All/GpuCells.RunLstmsInOneKernel/Gpu:All/GpuCells.RunRaggedTrees/Gpu'
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
if [ -x "$sanitizer" ]; then
  for tool in memcheck racecheck; do
    timeout 120 "$sanitizer" --tool "$tool" --error-exitcode 9 "$tests" "--gtest_filter=$few" > "$work/$tool.log" 2>&1 ||
      { failed "$tool"; tail -n 30 "$work/$tool.log" >&2; }
  done
else
  failed "compute-sanitizer is not installed"
fi

# Lengths for both sides: real ones from the pack, else made up.
if [ -f "$pack/lengths.txt" ]; then
  cp "$pack/lengths.txt" "$work/lengths.txt"
else
  python3 -c 'import random
random.seed(1)
for _ in range(8192): print(max(1, min(330, round(random.lognormvariate(2.97, 0.65)))))' > "$work/lengths.txt"
fi

timeout 120 "$bench" gpu --hidden 1024 --batch 64 256 512 --precision bfloat16 tf32 float32 --path generic fused \
  --json "$work/steps.json" || failed "steps"
engine=(engine --device gpu --precision bfloat16 --hidden 1024 --policy cellular --max-batch 512
  --lengths "$work/lengths.txt" --repeat 1)
timeout 60 "$bench" "${engine[@]}" --backlog --seconds 10 --json "$work/backlog.json" || failed "backlog"
if timeout 120 python3 "$root/gpu/peer_torch.py" --lengths "$work/lengths.txt" > "$work/torch.json"; then
  rate=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["half_load"]["rate_rps"])' "$work/torch.json")
  timeout 60 "$bench" "${engine[@]}" --rate "$rate" --seconds 10 --json "$work/half.json" || failed "half load"
else
  failed "PyTorch, the peer"
fi

mkdir -p "$root/gpu/results"
name=$(echo "$gpu" | tr -cs 'A-Za-z0-9\n' '-' | sed 's/^-*//; s/-*$//')-$(date +%Y-%m-%d)
python3 "$root/gpu/summarise.py" "$work" "$root/gpu/results/$name.json"
