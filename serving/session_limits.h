#pragma once

#include <cstdint>

#include "config/schema.h"
#include "routing/sessions/session.h"

namespace volvox {

// The bounds of a session table with room for `resident` states on the devices, at least one: what the
// configuration says of all clients, of each, and of those with a table of their own.
SessionLimits session_limits(const ServeConfig& config, std::uint32_t resident);

}  // namespace volvox
