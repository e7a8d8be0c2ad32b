#include "base/structure.h"

#include <algorithm>
#include <cstddef>

namespace volvox {
namespace {

struct Size {
  std::size_t operator()(const NoStructure&) const { return 0; }
  std::size_t operator()(const ChainStructure& chain) const { return chain.length; }
  std::size_t operator()(const LatticeStructure& lattice) const { return lattice.length; }
  std::size_t operator()(const SequencesStructure& sequences) const {
    const auto longest = std::max_element(sequences.lengths.begin(), sequences.lengths.end());
    return longest == sequences.lengths.end() ? 0 : static_cast<std::size_t>(std::max(*longest, 0));
  }
  std::size_t operator()(const TreeStructure& tree) const {
    std::vector<bool> inner(tree.parents.size());
    for (const std::int32_t parent : tree.parents) {
      if (parent >= 0 && static_cast<std::size_t>(parent) < inner.size())
        inner[static_cast<std::size_t>(parent)] = true;
    }
    return static_cast<std::size_t>(std::count(inner.begin(), inner.end(), false));
  }
  std::size_t operator()(const GraphStructure& graph) const {
    std::size_t first = 0;
    for (std::size_t node = 0; node + 1 < graph.offsets.size(); ++node)
      first += graph.offsets[node] == graph.offsets[node + 1] ? 1 : 0;
    return first;
  }
};

}  // namespace

std::uint32_t size_of(const Structure& structure) {
  return static_cast<std::uint32_t>(std::visit(Size(), structure));
}

}  // namespace volvox
