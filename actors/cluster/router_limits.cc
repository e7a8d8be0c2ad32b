#include "actors/cluster/router_limits.h"

#include <chrono>

namespace volvox {

RouterLimits router_limits(const ClusterSection& cluster) {
  RouterLimits limits;
  limits.membership.suspect_after = std::chrono::milliseconds(cluster.suspect_ms);
  limits.membership.dead_after = std::chrono::milliseconds(cluster.dead_ms);
  limits.membership.max_members = cluster.max_nodes;
  limits.settle_after = 5 * limits.membership.dead_after;
  limits.max_attempts = cluster.max_attempts;
  limits.placement =
      cluster.placement == PlacementChoice::kPack ? PlacementKind::kPack : PlacementKind::kBalance;
  return limits;
}

}  // namespace volvox
