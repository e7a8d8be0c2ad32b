#pragma once

#include <cstdint>
#include <memory>

#include <caf/all.hpp>

#include "actors/actor_slot.h"
#include "actors/admission.h"
#include "actors/cluster_transport.h"
#include "actors/node.h"
#include "config/cluster.h"
#include "monitoring/cluster_metrics.h"

namespace volvox {

struct ClusterNodeSetup {
  NodePtr node;
  std::shared_ptr<ActorSlot> router;  // of this process: the way to its manager
  std::shared_ptr<Admission> admission;
  ClusterSection cluster;
  std::uint64_t incarnation = 0;  // of this process, never 0
  std::shared_ptr<const ClusterTransport> transport;
  ClusterMetrics* metrics = nullptr;  // outlives the actor
};

using DrainAtom = caf::atom_constant<caf::atom("drain")>;  // → cluster node: take nothing new
using LeaveAtom = caf::atom_constant<caf::atom("leave")>;  // → cluster node: say goodbye and end

// The door through which a node gets requests from routers: dials all addresses that cluster.routers stands
// for, joins, reports its load, gives every request that comes a request actor, as the gateway does, and
// sends the answers back. Who loses a router stops that router's requests and dials again.
caf::actor spawn_cluster_node(caf::actor_system& system, ClusterNodeSetup setup);

}  // namespace volvox
