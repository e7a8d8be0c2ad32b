#pragma once

#include "config/cluster.h"
#include "routing/router.h"

namespace volvox {

// The bounds of a Router as the configuration has them.
RouterLimits router_limits(const ClusterSection& cluster);

}  // namespace volvox
