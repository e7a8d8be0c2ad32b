#!/usr/bin/env bash
# A cluster of real processes on this machine, until Ctrl-C.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: deploy/local-cluster.sh [--routers R] [--nodes N] [--models DIR] [--config FILE] [--port P] [--netns]
                               [--tls] [--help]

Starts R routers and N nodes and says where clients connect. Ends them all on Ctrl-C, or when one of them ends.

  --routers R    routers (default 1)
  --nodes N      nodes (default 2)
  --models DIR   the model repository (default models)
  --config FILE  settings of all processes, as for `volvox serve`
  --port P       router i takes clients at port P+10i, nodes at P+10i+1, monitoring at P+10i+2, and HTTP at P+10i+3
                 (default 7600)
  --netns        each process in a network namespace of its own, volvox-P-router0 and so on, router i at 10.77.0.(10+i), node i at
                 10.77.0.(100+i), on a bridge in the namespace volvox-P, where clients run at 10.77.0.1:
                     ip netns exec volvox-P volvox infer --connect tcp://10.77.0.10:P
                 Needs root and `ip`. All of it is removed at the end.
  --tls          encrypt the links between processes, with certificates made for this run
  --help         print this text

VOLVOX names the program (default build/release/volvox).
USAGE
}

die() {
  printf 'local-cluster: error: %s\n' "$*" >&2
  exit 1
}

routers=1 nodes=2 models=models port=7600 netns=no keys=""
config=()
while (($#)); do
  case "$1" in
    --routers) routers=${2:?}; shift 2 ;;
    --nodes) nodes=${2:?}; shift 2 ;;
    --models) models=${2:?}; shift 2 ;;
    --config) config=(--config "${2:?}"); shift 2 ;;
    --port) port=${2:?}; shift 2 ;;
    --netns) netns=yes; shift ;;
    --tls) keys=$(mktemp -d); shift ;;
    --help) usage; exit 0 ;;
    *) usage >&2; die "unknown option $1" ;;
  esac
done
volvox=${VOLVOX:-$(dirname "$0")/../build/release/volvox}
[[ -x "$volvox" ]] || die "$volvox is not there; build it, or set VOLVOX"

hub=volvox-$port
children=() names=() namespaces=()
# shellcheck disable=SC2317  # the trap calls it
cleanup() {
  trap '' INT TERM
  trap - EXIT
  for child in "${children[@]}"; do kill "$child" 2>/dev/null || true; done
  wait 2>/dev/null || true
  for namespace in "${namespaces[@]}"; do ip netns del "$namespace" || true; done # with its devices
  [[ -z "$keys" ]] || rm -rf "$keys"
}
trap cleanup EXIT
trap 'exit 0' INT TERM

new_namespace() {
  local name=$1
  ip netns add "$name" || die "the network namespace $name cannot be made; if it was left behind: ip netns del $name"
  namespaces+=("$name")
  ip -n "$name" link set lo up
}

# place NAME ADDRESS: where a process runs; sets `at`, and `inside`, which goes before its command.
place() {
  inside=() at=127.0.0.1
  [[ $netns == yes ]] || return 0
  local name=$hub-$1
  at=$2 inside=(ip netns exec "$name")
  new_namespace "$name"
  ip -n "$hub" link add "$1" type veth peer name eth0 netns "$name"
  ip -n "$hub" link set "$1" master bridge up
  ip -n "$name" addr add "$at/24" dev eth0
  ip -n "$name" link set eth0 up
}

# Sets `tls` to what the process of that name needs.
certify() {
  tls=()
  [[ -n "$keys" ]] || return 0
  "$volvox" keys "$keys" --cluster "$1" >/dev/null
  tls=(--tls-certificate "$keys/cluster/$1.crt" --tls-key "$keys/cluster/$1.key" --tls-ca "$keys/cluster/ca.crt")
}

security=()
if [[ $netns == yes ]]; then
  [[ $EUID == 0 ]] || die "--netns needs root"
  command -v ip >/dev/null || die "--netns needs the program ip (Debian: iproute2)"
  ((routers <= 90 && nodes <= 150)) || die "--netns has addresses for 90 routers and 150 nodes"
  [[ -n "$keys" ]] || security=(--insecure-cluster)
  security+=(--insecure-doors) # reached from these namespaces only
  new_namespace "$hub"
  ip -n "$hub" link add bridge type bridge
  ip -n "$hub" addr add 10.77.0.1/24 dev bridge
  ip -n "$hub" link set bridge up
fi

dial=""
for ((i = 0; i < routers; ++i)); do
  place "router$i" "10.77.0.$((10 + i))"
  certify "router$i"
  first=$((port + 10 * i))
  "${inside[@]}" "$volvox" router "${config[@]}" --name "router$i" --listen "tcp://$at:$first" \
    --cluster-listen "$at:$((first + 1))" "${security[@]}" --metrics "$at:$((first + 2))" \
    --http "$at:$((first + 3))" "${tls[@]}" &
  children+=($!)
  names[$!]=router$i
  dial+="${dial:+,}$at:$((first + 1))"
done
for ((i = 0; i < nodes; ++i)); do
  place "node$i" "10.77.0.$((100 + i))"
  certify "node$i"
  own=0 # any free port; but in two namespaces the same one may be free, and the admin sockets are named by it
  [[ $netns == no ]] || own=$((port + 1000 + i))
  "${inside[@]}" "$volvox" node "${config[@]}" --name "node$i" --routers "$dial" --models "$models" \
    --listen "tcp://127.0.0.1:$own" --metrics "" --http "" "${tls[@]}" &
  children+=($!)
  names[$!]=node$i
done
ended=
wait -n -p ended || true
die "${names[$ended]:-a process} ended, and the rest with it"
