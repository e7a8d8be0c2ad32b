#pragma once

#include <cstdint>

namespace volvox {

// Names one membership of a cluster node to a router: from its join to its end. A node that joins again gets
// another one. An id that is kept for too long is recognised as such, never mistaken for another.
struct NodeId {
  std::uint32_t index = ~std::uint32_t{0};
  std::uint32_t generation = 0;
  bool operator==(const NodeId&) const = default;
};

}  // namespace volvox
