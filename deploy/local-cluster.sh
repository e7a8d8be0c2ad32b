#!/usr/bin/env bash
# A cluster of real processes on this machine, until Ctrl-C.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: deploy/local-cluster.sh [--routers R] [--nodes N] [--models DIR] [--config FILE] [--port P] [--help]

Starts R routers and N nodes on loopback and says where clients connect. Ends them all on Ctrl-C, or when one
of them cannot start.

  --routers R    routers (default 1)
  --nodes N      nodes (default 2)
  --models DIR   the model repository (default models)
  --config FILE  settings of all processes, as for `volvox serve`
  --port P       router i takes clients at port P+10i, nodes at P+10i+1, and monitoring at P+10i+2 (default 7600)
  --help         print this text

VOLVOX names the program (default build/release/volvox).
USAGE
}

die() {
  printf 'local-cluster: error: %s\n' "$*" >&2
  exit 1
}

routers=1 nodes=2 models=models port=7600
config=()
while (($#)); do
  case "$1" in
    --routers) routers=${2:?}; shift 2 ;;
    --nodes) nodes=${2:?}; shift 2 ;;
    --models) models=${2:?}; shift 2 ;;
    --config) config=(--config "${2:?}"); shift 2 ;;
    --port) port=${2:?}; shift 2 ;;
    --help) usage; exit 0 ;;
    *) usage >&2; die "unknown option $1" ;;
  esac
done
volvox=${VOLVOX:-$(dirname "$0")/../build/release/volvox}
[[ -x "$volvox" ]] || die "$volvox is not there; build it, or set VOLVOX"

children=()
# shellcheck disable=SC2317  # the trap calls it
cleanup() {
  trap - EXIT INT TERM
  for child in "${children[@]}"; do kill "$child" 2>/dev/null || true; done
  wait
}
trap cleanup EXIT
trap 'exit 0' INT TERM

dial=""
for ((i = 0; i < routers; ++i)); do
  at=$((port + 10 * i))
  "$volvox" router "${config[@]}" --name "router$i" --listen "tcp://127.0.0.1:$at" \
    --cluster-listen "127.0.0.1:$((at + 1))" --metrics "127.0.0.1:$((at + 2))" &
  children+=($!)
  dial+="${dial:+,}127.0.0.1:$((at + 1))"
done
for ((i = 0; i < nodes; ++i)); do
  "$volvox" node "${config[@]}" --name "node$i" --routers "$dial" --models "$models" \
    --listen tcp://127.0.0.1:0 --metrics "" --http "" &
  children+=($!)
done
wait -n || true
die "a process ended"
