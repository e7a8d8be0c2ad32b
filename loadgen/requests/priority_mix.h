#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "protocol/messages.h"

namespace volvox {

// How often each priority class comes in a load, by weight. A plain value.
struct PriorityMix {
  double high = 0, normal = 1, low = 0;

  // The class of a request, a function of its id alone.
  WirePriority draw(std::uint64_t request_id) const;
};

// "high", or "high=1,normal=8,low=1". INVALID_ARGUMENT says what is wrong.
Result<PriorityMix> parse_priority_mix(std::string_view text);

}  // namespace volvox
