#include "protocol/cluster_version.h"

namespace volvox {

ClusterVersions cluster_versions() {
  return {.best = 1, .oldest = 1};
}

}  // namespace volvox
