#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "batching/request.h"
#include "batching/scheduler_config.h"

namespace volvox {

// Rows of the request that can run at once as it comes in, at least one: nodes that read no other, and all
// steps of a lane of which none reads another, as far as its ring has room for them.
inline std::uint32_t first_rows(const Request& request, const std::vector<TypeConfig>& types) {
  std::uint32_t rows = 0;
  if (request.graph != nullptr) {
    const auto of_types = request.graph->sources();
    rows = std::accumulate(of_types.begin(), of_types.end(), rows);
  } else {
    for (const LaneSpec& lane : request.plan->lanes) {
      if (!types[lane.type].independent || !lane.edges.empty()) continue;
      const std::uint32_t length = request.lengths[lane.length_of];
      rows += lane.ring == 0 ? length : std::min(length, lane.ring);
    }
  }
  return std::max(1U, rows);
}

}  // namespace volvox
