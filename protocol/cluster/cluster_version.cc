#include "protocol/cluster/cluster_version.h"

namespace volvox {

ClusterVersions cluster_versions() {
  return {.best = 2, .oldest = 1};
}

}  // namespace volvox
