#pragma once

#include <algorithm>
#include <cstdint>

#include "config/schema.h"
#include "routing/sessions/parked_parts.h"

namespace volvox {

// Of the places that all requests in flight share, what parts may hold that wait for a missing one.
inline ParkedParts::Limits parked_limits(const ServeConfig& config) {
  const SessionsSection& sessions = config.sessions;
  ParkedParts::Limits limits;
  limits.parts = sessions.max_parked_parts != 0 ? sessions.max_parked_parts
                                                : std::max(1U, config.limits.max_requests_in_flight / 10);
  limits.parts_per_client =
      sessions.max_parked_per_client != 0 ? sessions.max_parked_per_client : std::max(1U, limits.parts / 4);
  limits.bytes = std::uint64_t{sessions.max_parked_mib} << 20;
  return limits;
}

}  // namespace volvox
