#pragma once

#include "base/error.h"
#include "config/cluster.h"

namespace volvox {

// Whether the TCP ports of the doors that the configuration names are free, before minutes go into loading
// models. UNAVAILABLE names the setting. The doors themselves have the last word: a port may be taken since.
Status check_ports_are_free(const ServeConfig& config);

}  // namespace volvox
