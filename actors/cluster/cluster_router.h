#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <caf/all.hpp>

#include "actors/cluster/cluster_transport.h"
#include "actors/cluster/routed_models.h"
#include "config/cluster.h"
#include "monitoring/metrics/cluster_metrics.h"
#include "routing/router.h"

namespace volvox {

struct ClusterRouterSetup {
  ClusterConfig config;
  Incarnation incarnation = 0;             // of this process
  std::uint64_t seed = 0;                  // for placement
  ClusterMetrics* metrics = nullptr;       // outlives the actor
  std::shared_ptr<RoutedModels> models{};  // told of what nodes offer and answer; may be null
  std::shared_ptr<const ClusterTransport> transport{};
  std::function<void(const IncomingRequest&)>
      fault{};  // where tests make the actor fail; empty in production
};

// The router's place among the actors of a process that has no device: drives the pure Router, and keeps the
// links that nodes opened to it. Takes RunWork(s) and CancelWork(s) from request actors, ClusterPacket from
// nodes. Each Work that it holds is settled, whatever becomes of nodes.
caf::actor spawn_cluster_router(caf::actor_system& system, ClusterRouterSetup setup);

}  // namespace volvox
