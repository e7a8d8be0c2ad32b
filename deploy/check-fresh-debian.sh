#!/usr/bin/env bash
# Proves that the README's commands work on a Debian 12 with nothing else installed.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: deploy/check-fresh-debian.sh DIR [--fresh] [--] [COMMAND…]

Builds a minimal Debian 12 tree (debootstrap, variant minbase) in DIR, copies the committed tree (HEAD) in,
and runs commands there, each with a shell of its own, in the root of the copy. Without a COMMAND it runs
the lines of the first `sh` block of README.md, except those that only fetch the source (git, cd).

The mirror, the proxy and the other settings for fetching are those of this machine's apt. Needs root,
debootstrap, git, and about 3 GB. Whatever a command starts ends with it: it runs in process and mount
namespaces of its own; the network is this machine's.

  DIR        where the tree goes; when it holds one already, it is used again (with what is installed there)
  --fresh    delete the tree in DIR first
  COMMAND    a command line to run instead of the README's; several may follow
  --help     print this text
USAGE
}

say() { printf 'check-fresh-debian: %s\n' "$*" >&2; }
die() {
  say "error: $*"
  exit 1
}

# Prints the first Debian mirror that apt knows here, in either format of its lists.
mirror() {
  local files=()
  shopt -s nullglob
  # [t]: a pattern, so that a file that is not there is left out.
  files=(/etc/apt/sources.lis[t] /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources)
  shopt -u nullglob
  [[ ${#files[@]} -gt 0 ]] || return 0
  awk '
    $1 == "deb" { sub(/\[[^]]*\] */, ""); if ($3 == "bookworm") { print $2; exit } }
    $1 == "URIs:" { uri = $2 }
    $1 == "Suites:" { for (i = 2; i <= NF; i++) if ($i == "bookworm" && uri != "") { print uri; exit } }
  ' "${files[@]}"
}

make_tree() {
  local from
  from=$(mirror)
  [[ -n "$from" ]] || die "found no bookworm mirror in /etc/apt/sources.list*"
  say "debootstrap from $from into $dir"
  local start=$SECONDS log
  log=$(mktemp)
  if ! debootstrap --variant=minbase bookworm "$dir" "$from" >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    die "debootstrap failed (its last lines are above)"
  fi
  rm -f "$log"
  # How this machine's apt fetches (proxies, retries), not what it fetches.
  apt-config dump | grep -E '^Acquire::([a-z]+::)*(Proxy|Proxy-Auto-Detect|Check-Valid-Until|Check-Date) ' \
    >"$dir/etc/apt/apt.conf.d/90fetching" || true
  # debootstrap leaves out what an installer, or whoever starts a container, writes.
  printf '127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n' >"$dir/etc/hosts"
  touch "$dir/.volvox-fresh"
  say "tree made in $((SECONDS - start)) s"
}

copy_source() {
  rm -rf "${dir:?}/volvox"
  mkdir -p "$dir/volvox"
  git -C "$root" archive HEAD | tar -x -C "$dir/volvox"
}

# Prints the commands of the README's first `sh` block.
readme_commands() {
  [[ -f "$dir/volvox/README.md" ]] || die "no README.md in HEAD; name the commands to run"
  awk '/^```(sh|bash|console)$/ { inside = 1; next } /^```/ && inside { exit } inside' "$dir/volvox/README.md" |
    sed -e 's/^\$ //' | grep -vE '^(git|cd|#|$)'
}

run_inside() {
  local start=$SECONDS
  say "run: $1"
  # A process namespace of its own: nothing that the command leaves behind outlives it.
  # shellcheck disable=SC2016
  env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM="${TERM:-dumb}" LANG=C.UTF-8 \
    unshare --mount --pid --fork --kill-child --mount-proc="$dir/proc" --propagation private \
    chroot "$dir" bash -c 'cd /volvox && eval "$1"' bash "$1" || die "'$1' failed with status $?"
  say "ok after $((SECONDS - start)) s: $1"
}

dir=""
fresh=false
commands=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    -h | --help)
      usage
      exit 0
      ;;
    --fresh) fresh=true ;;
    --)
      shift
      commands+=("$@")
      break
      ;;
    -*) die "unknown option: $1 (see --help)" ;;
    *) if [[ -z "$dir" ]]; then dir=$1; else commands+=("$1"); fi ;;
  esac
  shift
done

[[ -n "$dir" ]] || { usage >&2; exit 2; }
[[ $EUID -eq 0 ]] || die "must be root, for debootstrap and chroot"
for tool in debootstrap git unshare; do
  command -v "$tool" >/dev/null || die "needs $tool"
done
root=$(git -C "$(dirname "${BASH_SOURCE[0]}")" rev-parse --show-toplevel)
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

marker="$dir/.volvox-fresh"
if [[ -d "$dir/debootstrap" && ! -e "$marker" ]]; then
  say "$dir was left half-made: making it anew"
  fresh=true
elif [[ -n "$(ls -A "$dir")" && ! -e "$marker" ]]; then
  die "$dir is neither empty nor a tree that this script made"
fi
if $fresh; then rm -rf --one-file-system "${dir:?}"; fi
[[ -e "$marker" ]] || make_tree
copy_source
if [[ ${#commands[@]} -eq 0 ]]; then
  mapfile -t commands < <(readme_commands)
fi
[[ ${#commands[@]} -gt 0 ]] || die "no command to run"
for command in "${commands[@]}"; do
  run_inside "$command"
done
say "all ${#commands[@]} commands succeeded on a fresh Debian 12"
