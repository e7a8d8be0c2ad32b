#pragma once

#include <cstddef>
#include <optional>

#include "base/error.h"
#include "config/schema.h"
#include "protocol/limits.h"
#include "protocol/sockets/edge_socket.h"
#include "serving/token_buckets.h"

namespace volvox {

// What the configuration says of the door of clients, in the words of those who keep it.

WireLimits wire_limits(const WireSection& wire);
EdgeOptions edge_options(const ServeConfig& config);  // but for the keys
// Nothing: the door is not encrypted. Reads the files that are named there; says which cannot be read.
Result<std::optional<EdgeKeys>> edge_keys(const SecuritySection& security);
// Of each connection: pings and cancels.
TokenBuckets::Limits signal_limits(const LimitsSection& limits);
// Parts of bundles that may be read and under way: as configured, or by this machine.
std::size_t parts_at_once(const ServeConfig& config);

}  // namespace volvox
