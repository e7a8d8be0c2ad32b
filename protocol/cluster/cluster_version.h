#pragma once

#include <cstdint>

namespace volvox {

// Versions of the cluster protocol: processes of neighbouring ones work together, so that a cluster can be
// upgraded process by process.
struct ClusterVersions {
  std::uint16_t best = 0, oldest = 0;
};

// Those that this program speaks. Alone in its file, for a test links programs that speak others.
ClusterVersions cluster_versions();

}  // namespace volvox
