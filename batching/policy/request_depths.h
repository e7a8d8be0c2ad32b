#pragma once

#include <cstdint>
#include <vector>

#include "batching/request.h"

namespace volvox {

// How many nodes must run one after the other before a node; 0 where none must.
struct NodeDepth {
  CellTypeId type = 0;
  std::uint32_t depth = 0;
};

// The depths of all nodes of the request, predecessors first; lanes as long as they can become. `depths` is
// cleared before.
void request_depths(const Request& request, std::vector<NodeDepth>& depths);

}  // namespace volvox
