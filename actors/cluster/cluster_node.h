#pragma once

#include <cstdint>
#include <future>
#include <memory>

#include <caf/all.hpp>

#include "actors/cluster/cluster_transport.h"
#include "actors/edge/admission.h"
#include "actors/node/node.h"
#include "actors/process/process_hooks.h"
#include "actors/system/actor_slot.h"
#include "config/cluster.h"
#include "monitoring/metrics/cluster_metrics.h"

namespace volvox {

struct ClusterNodeSetup {
  NodePtr node;
  std::shared_ptr<ActorSlot> runner;  // of this process: its manager
  std::shared_ptr<Admission> admission;
  ClusterSection cluster;
  std::uint64_t incarnation = 0;  // of this process, never 0
  std::shared_ptr<const ClusterTransport> transport;
  ClusterMetrics* metrics = nullptr;  // outlives the actor
  ProcessHooks hooks;
};

using DrainAtom = caf::atom_constant<caf::atom("drain")>;  // → cluster node: take nothing new

// → cluster node: say goodbye to all routers, when they have all that is on its way to them, and end.
struct LeaveCluster {
  TimePoint until{};                         // then at the latest; what has not arrived is tried elsewhere
  std::shared_ptr<std::promise<void>> left;  // broken when the node has ended
};

// The door through which a node gets requests from routers: dials all addresses that cluster.routers stands
// for, joins, reports its load, gives every request that comes a request actor, as the gateway does, and
// sends the answers back. Who loses a router stops that router's requests and dials again.
caf::actor spawn_cluster_node(caf::actor_system& system, ClusterNodeSetup setup);

}  // namespace volvox

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::LeaveCluster)
