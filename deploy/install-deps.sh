#!/usr/bin/env bash
# Installs what Volvox needs on Debian 12: packages, and a libzmq of its own. Does nothing, quickly, when nothing is
# missing.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: deploy/install-deps.sh [--dev] [--list] [--help]

Installs what it takes to build, run and test Volvox on Debian 12 (bookworm), with apt, as root or through
sudo. Packages that are already there are left alone; when none is missing, apt-get is not called at all. Then
builds, once, the patched libzmq (deploy/build-libzmq.sh).

  --dev     also install what `tests/run.sh --full` uses: clang, clang-tidy, the sanitizers of clang,
            shellcheck, PyTorch for comparisons, Prometheus, tmux, and Chromium
  --list    print the packages, one a line, and install nothing
  --help    print this text
USAGE
}

say() { printf 'install-deps: %s\n' "$*" >&2; }
die() {
  say "error: $*"
  exit 1
}

# What the build needs. pkgconf is asked for by Cap'n Proto's CMake files; zlib and civetweb by prometheus-cpp's;
# libsodium and dpkg-dev (with patch and xz) by deploy/build-libzmq.sh.
BUILD_PACKAGES=(
  g++ cmake ninja-build pkgconf
  libcaf-dev libssl-dev libsodium-dev dpkg-dev libcapnp-dev capnproto
  prometheus-cpp-dev zlib1g-dev libcivetweb-dev libcurl4-openssl-dev
  libdnnl-dev libtomlplusplus-dev nlohmann-json3-dev libcli11-dev libspdlog-dev libfmt-dev libexpected-dev
  libncurses-dev
)
# What a build does without, but then reads no ONNX (`volvox import`).
ONNX_PACKAGES=(libonnx-dev libprotobuf-dev protobuf-compiler)
# What tests/run.sh needs on top.
TEST_PACKAGES=(libgtest-dev libgmock-dev libbenchmark-dev python3 python3-zmq python3-numpy curl clang-format)
# What tests/run.sh --full needs on top. Debian starts Prometheus as a service, which the tests do not need:
# `systemctl disable --now prometheus`.
DEV_PACKAGES=(clang clang-tidy libclang-rt-14-dev shellcheck python3-torch python3-onnx libonnx-testdata python3-matplotlib prometheus tmux chromium)

# Prints those of the given packages that are not fully installed.
missing_of() {
  local installed
  installed=" $(dpkg-query --show --showformat='${db:Status-Status}:${Package} ' "$@" 2>/dev/null || true)"
  local package
  for package in "$@"; do
    [[ "$installed" == *" installed:$package "* ]] || printf '%s\n' "$package"
  done
}

# Runs apt-get as root, waiting for another apt that may be at work, never asking a question.
apt_get() {
  local as_root=()
  [[ $EUID -eq 0 ]] || as_root=(sudo)
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 \
    -o Acquire::Retries=3 -qq "$@" >&2
}

warn_about_release() {
  local codename
  # shellcheck source=/dev/null
  codename=$(. /etc/os-release 2>/dev/null && printf '%s' "${VERSION_CODENAME:-unknown}") || codename=unknown
  [[ "$codename" == bookworm ]] || say "warning: made for Debian 12 (bookworm), this is '$codename'"
}

install_packages() {
  warn_about_release
  [[ $EUID -eq 0 ]] || command -v sudo >/dev/null ||
    die "not root, and there is no sudo; as root, run: apt-get install ${missing[*]}"
  say "installing ${#missing[@]} packages: ${missing[*]}"
  apt_get update || die "apt-get update failed: check the network and /etc/apt/sources.list*"
  # Hundreds of lines, of use only when something fails.
  local log
  log=$(mktemp)
  if ! apt_get install --yes --no-install-recommends "${missing[@]}" 2>"$log"; then
    tail -n 30 "$log" >&2
    rm -f "$log"
    die "apt-get could not install the packages (its last lines are above)"
  fi
  rm -f "$log"
}

packages=("${BUILD_PACKAGES[@]}" "${ONNX_PACKAGES[@]}" "${TEST_PACKAGES[@]}")
list_only=false
while [[ $# -gt 0 ]]; do
  case "$1" in
    --dev) packages+=("${DEV_PACKAGES[@]}") ;;
    --list) list_only=true ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      usage >&2
      die "unknown option: $1"
      ;;
  esac
  shift
done

if $list_only; then
  printf '%s\n' "${packages[@]}"
  exit 0
fi
for tool in apt-get dpkg-query; do
  command -v "$tool" >/dev/null || die "no $tool here: this script is for Debian; see --list for what to install"
done

mapfile -t missing < <(missing_of "${packages[@]}")
if [[ ${#missing[@]} -eq 0 ]]; then
  say "nothing is missing (${#packages[@]} packages)"
else
  install_packages
  mapfile -t missing < <(missing_of "${packages[@]}")
  [[ ${#missing[@]} -eq 0 ]] || die "still missing after apt-get: ${missing[*]}"
fi
"$(dirname "${BASH_SOURCE[0]}")/build-libzmq.sh"
say "done"
