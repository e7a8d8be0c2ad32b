#!/usr/bin/env bash
# Builds the libzmq that Volvox is linked with: Debian's, with deploy/patches/libzmq.patch.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: deploy/build-libzmq.sh [--where] [--help]

Fetches the source package of Debian's libzmq (zeromq3), applies deploy/patches/libzmq.patch, whose head says why,
and installs a static library with its header where CMake looks for it. deploy/install-deps.sh calls it. Does
nothing, quickly, when that is there and Debian has no newer version.

Each version of the patch has a folder of its own, so that several source trees on one machine get along. The system's lists of package sources stay as they are.

  --where   print the folder and do nothing
  --help    print this text

VOLVOX_LIBZMQ_ROOT   where those folders lie (default /usr/local/lib/volvox-libzmq; give CMake the same)
USAGE
}

say() { printf 'build-libzmq: %s\n' "$*" >&2; }
die() {
  say "error: $*"
  exit 1
}

# Runs a command as root if the folder is not this user's to write in.
as_owner() {
  local as_root=()
  [[ $EUID -eq 0 || -w "$base" ]] || as_root=(sudo)
  "${as_root[@]}" "$@"
}

# Prints the output of a step only when it fails.
quietly() {
  local what=$1
  shift
  if ! "$@" >"$scratch/log" 2>&1; then
    tail -n 30 "$scratch/log" >&2
    die "$what failed (its last lines are above)"
  fi
}

# Names the library, as cmake/FindVolvoxZeroMQ.cmake does.
recipe() {
  sha256sum "$patch" | cut -c 1-16
}

# The version that apt would install, without the suffix of a mere rebuild; nothing if apt knows none.
candidate() {
  LC_ALL=C apt-cache policy libzmq5 2>/dev/null |
    awk '$1 == "Candidate:" && $2 != "(none)" { sub(/\+b[0-9]+$/, "", $2); print $2 }'
}

# Writes lists of source packages that say the same as this machine's lists of binary packages of its release.
write_source_lists() {
  local codename file files=()
  # shellcheck source=/dev/null
  codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-bookworm}")
  shopt -s nullglob
  files=(/etc/apt/sources.lis[t] /etc/apt/sources.list.d/*.list)
  for file in "${files[@]}"; do
    awk -v release="$codename" '$1 == "deb" && index($0, " " release) { sub(/deb/, "deb-src"); print }' "$file"
  done >"$scratch/lists/source.list"
  files=(/etc/apt/sources.list.d/*.sources)
  for file in "${files[@]}"; do
    awk -v release="$codename" -v RS= -v ORS='\n\n' \
      '$0 ~ "(^|\n)Suites:[^\n]*[ \t]" release && !/(^|\n)Enabled:[ \t]*no/ { sub(/Types:[^\n]*/, "Types: deb-src"); print }' \
      "$file"
  done >"$scratch/lists/source.sources"
  shopt -u nullglob
  [[ -s "$scratch/lists/source.list" || -s "$scratch/lists/source.sources" ]] ||
    die "found no $codename archive in /etc/apt/sources.list*"
}

# Leaves the unpacked source in $scratch/source and its version in $version.
fetch() {
  mkdir -p "$scratch/lists" "$scratch/state/partial" "$scratch/cache/archives/partial" "$scratch/down"
  write_source_lists
  # Hashes of what is fetched come from the archive's signed index, so that dpkg-source need not check again.
  local apt=(apt-get -qq -o "Dir::Etc::SourceList=/dev/null" -o "Dir::Etc::SourceParts=$scratch/lists"
    -o "Dir::State::Lists=$scratch/state" -o "Dir::Cache=$scratch/cache" -o APT::Sandbox::User=root
    -o Acquire::Retries=3)
  quietly "apt-get update, for lists of source packages," "${apt[@]}" update
  (cd "$scratch/down" && quietly "fetching the source of zeromq3" "${apt[@]}" source --download-only zeromq3)
  local description
  description=$(echo "$scratch"/down/*.dsc)
  version=$(awk '$1 == "Version:" { print $2; exit }' "$description")
  quietly "unpacking $description" dpkg-source --no-check -x "$description" "$scratch/source"
}

apply() {
  local made_for
  made_for=$(awk '$1 == "Made" && $2 == "for:" { print $4; exit }' "$patch")
  if [[ "$version" != "$made_for" ]]; then
    say "WARNING: Debian has zeromq3 $version now; $patch was made for $made_for."
    say "WARNING: read Debian's changes, run tests/run.sh, and write the new version into the patch's first line."
  fi
  if ! patch -d "$scratch/source" -p1 --forward --fuzz=0 --batch <"$patch" >"$scratch/log" 2>&1; then
    cat "$scratch/log" >&2
    die "the patch, made for zeromq3 $made_for, does not apply to $version: fetch both versions with" \
      "'apt-get source', carry the patch over to the new one, and write $version into its first line"
  fi
}

# CURVE through libsodium, as Debian builds it. Left out of what Debian enables, for Volvox uses none of it and each
# would be one more library to link and one more way in: GSSAPI, PGM and NORM (multicast), libbsd.
build() {
  quietly "configuring libzmq" cmake -S "$scratch/source" -B "$scratch/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$scratch/tree" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
    -DCMAKE_CXX_FLAGS="-fstack-protector-strong -D_FORTIFY_SOURCE=2 -fcf-protection" \
    -DBUILD_STATIC=ON -DBUILD_SHARED=OFF -DBUILD_TESTS=OFF -DWITH_PERF_TOOL=OFF -DWITH_DOCS=OFF -DWITH_DOC=OFF \
    -DENABLE_CURVE=ON -DWITH_LIBSODIUM=ON -DENABLE_DRAFTS=OFF -DENABLE_WS=OFF -DENABLE_RADIX_TREE=OFF \
    -DWITH_OPENPGM=OFF -DWITH_NORM=OFF -DWITH_VMCI=OFF -DWITH_LIBBSD=OFF -DENABLE_CPACK=OFF -DENABLE_CLANG=OFF \
    -DENABLE_PRECOMPILED=OFF
  quietly "building libzmq" cmake --build "$scratch/build"
  quietly "installing libzmq" cmake --install "$scratch/build"
  [[ -f "$scratch/tree/lib/libzmq.a" ]] || die "the build left no lib/libzmq.a"
  grep -q 'ZMQ_HAVE_CURVE' "$scratch/build/platform.hpp" || die "libzmq was built without CURVE"
}

# Nobody finds it half done.
publish() {
  local new="$base/.new.$$"
  as_owner rm -rf "$new"
  as_owner mkdir -p "$new/lib" "$new/include"
  as_owner cp "$scratch/tree/lib/libzmq.a" "$new/lib/"
  as_owner cp "$scratch/source/include/zmq.h" "$new/include/"
  printf '%s\n' "$version" >"$scratch/version"
  as_owner cp "$scratch/version" "$new/debian-version"
  as_owner chmod -R a+rX "$new"
  as_owner rm -rf "$target"
  as_owner mv "$new" "$target"
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
patch="$here/patches/libzmq.patch"
base=${VOLVOX_LIBZMQ_ROOT:-/usr/local/lib/volvox-libzmq}
target="$base/$(recipe)"
case "${1:-}" in
  "") ;;
  --where)
    printf '%s\n' "$target"
    exit 0
    ;;
  -h | --help)
    usage
    exit 0
    ;;
  *)
    usage >&2
    die "unknown option: $1"
    ;;
esac

wanted=$(candidate)
if [[ -f "$target/debian-version" ]]; then
  have=$(<"$target/debian-version")
  if [[ -z "$wanted" ]] || dpkg --compare-versions "$have" ge "$wanted"; then
    say "nothing to do (Debian's $have, patched, in $target)"
    exit 0
  fi
  say "Debian's libzmq has moved on from $have to $wanted: building anew"
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if ! mkdir -p "$base" 2>/dev/null; then
  command -v sudo >/dev/null || die "not root, and there is no sudo: $base cannot be made; name another folder by VOLVOX_LIBZMQ_ROOT"
  sudo mkdir -p "$base"
fi
version=""
fetch
apply
say "building zeromq3 $version with $patch"
build
publish
say "installed in $target"
