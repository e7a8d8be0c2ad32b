#!/usr/bin/env bash
# From a bare Debian 12 to an LSTM served under load, with its answers checked.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: deploy/quickstart.sh [--seconds S] [--rate R] [--hidden H] [--json FILE] [--no-install] [--help]

Installs what is missing, builds Volvox, writes an LSTM with random weights, serves it on this machine's
loopback, offers it requests of the lengths of real sentences, checks the answers against a reference, and
stops the server again. Succeeds when every request was answered, none wrongly, and the server drained.

  --seconds S   offer requests for S seconds (default 10)
  --rate R      R requests a second, at random times (default 200)
  --hidden H    the width of the LSTM (default 256)
  --json FILE   also write the report there
  --no-install  do not install packages; fail if some are missing
  --help        print this text

Needs nothing but the source; leaves only build/release (and the report) behind.
USAGE
}

say() { printf '\nquickstart: %s\n' "$*"; }
die() {
  printf 'quickstart: error: %s\n' "$*" >&2
  exit 1
}

server=""
load=""
scratch=""

# However this script ends, no process and no scratch file stays behind.
cleanup() {
  local status=$? child
  trap - EXIT INT TERM
  for child in $load $server; do
    kill -KILL "$child" 2>/dev/null || true
    wait "$child" 2>/dev/null || true
  done
  if [[ -n "$scratch" ]]; then rm -rf "$scratch"; fi
  exit "$status"
}

# Runs a command whose output is of interest only when it fails.
quietly() {
  if ! "$@" >"$scratch/log" 2>&1; then
    tail -n 40 "$scratch/log" >&2
    die "failed: $*"
  fi
}

running() { kill -0 "$server" 2>/dev/null; }

server_log() {
  echo "the server's last lines:" >&2
  tail -n 20 "$scratch/serve.log" >&2
}

start_server() {
  "$volvox" serve --models "$scratch/models" --listen tcp://127.0.0.1:0 --metrics 127.0.0.1:0 --http '' \
    >"$scratch/serve.log" 2>&1 &
  server=$!
  local waited=0
  # The server says once it can answer: "volvox ready at ENDPOINT metrics ADDRESS http ADDRESS models N admin PATH".
  until grep -q '^volvox ready at ' "$scratch/serve.log"; do
    running || { server_log; die "the server ended before it was ready"; }
    [[ $waited -lt 600 ]] || { server_log; die "the server was not ready within 60 s"; }
    sleep 0.1
    waited=$((waited + 1))
  done
  read -r endpoint metrics < <(sed -n 's/^volvox ready at \([^ ]*\) metrics \([^ ]*\).*/\1 \2/p' "$scratch/serve.log")
}

# In the background, so that a signal ends this script at once and not after the load.
offer_load() {
  local report=() status=0
  [[ -z "$json" ]] || report=(--json "$json")
  "$volvox" load --connect "$endpoint" --metrics "$metrics" --models "$scratch/models" --model lstm \
    --rate "$rate" --seconds "$seconds" --require-all "${report[@]}" &
  load=$!
  wait "$load" || status=$?
  load=""
  [[ $status -eq 0 ]] || { server_log; die "the load ended with status $status"; }
}

# SIGTERM: the server finishes what it has and leaves, in bounded time and with status 0.
stop_server() {
  kill -TERM "$server"
  local waited=0
  while running; do
    [[ $waited -lt 300 ]] || { server_log; die "the server did not drain within 30 s"; }
    sleep 0.1
    waited=$((waited + 1))
  done
  local status=0
  wait "$server" || status=$?
  server=""
  [[ $status -eq 0 ]] || { server_log; die "the server ended with status $status"; }
}

seconds=10
rate=200
hidden=256
json=""
install=true
while [[ $# -gt 0 ]]; do
  case "$1" in
    --seconds | --rate | --hidden | --json)
      [[ $# -ge 2 ]] || die "$1 needs a value (see --help)"
      printf -v "${1#--}" '%s' "$2"
      shift
      ;;
    --no-install) install=false ;;
    -h | --help)
      usage
      exit 0
      ;;
    *) die "unknown option: $1 (see --help)" ;;
  esac
  shift
done
for number in seconds rate hidden; do
  [[ "${!number}" =~ ^[1-9][0-9]*$ ]] || die "--$number needs a positive whole number, not '${!number}'"
done
# Named as seen from where the user is, not from the root of the source.
if [[ -n "$json" && "$json" != /* ]]; then json="$PWD/$json"; fi

cd "$(dirname "${BASH_SOURCE[0]}")/.."
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
if $install; then
  say "packages"
  deploy/install-deps.sh
fi
mkdir -p build
scratch=$(mktemp -d "$PWD/build/quickstart.XXXXXX")
volvox="$PWD/build/release/volvox"

say "building (the first time this takes minutes)"
quietly cmake --preset release
quietly cmake --build --preset release --target volvox

say "an LSTM of width $hidden"
"$volvox" models new lstm "$scratch/models/lstm" --hidden "$hidden"
start_server
say "serving at $endpoint; offering $rate requests a second for $seconds s"
offer_load
stop_server
say "all answered, none wrong, the server drained${json:+; the report is in $json}"
