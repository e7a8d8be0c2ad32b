// Trees of a stranger, each node's parent as two bytes: each is refused by a typed error, or can be unfolded.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/structure.h"
#include "cells/unfold/tree/tree_plan.h"
#include "tests/fuzz/parts.h"

namespace volvox::fuzz {
namespace {

// What passes can be unfolded, and every node but the root is read once.
void check_unfolding(const TreeStructure& tree) {
  for (const bool binary : {false, true}) {
    TreePlan plan{.leaf = 0, .inner = binary ? 1U : 0U, .binary = binary, .max_children = 100};
    plan.pushes[0] = {.output = 0, .every = true};
    if (const Status sound = check_tree(plan, tree.parents); !sound) {
      require_refusal(sound.error());
      continue;
    }
    const auto graph = unfold_tree(plan, tree.parents);
    require(graph && graph->size() == tree.parents.size(), "a tree that was checked can be unfolded");
    for (std::uint32_t v = 0; v < graph->size(); ++v) {
      require(graph->successors(v).size() == (v + 1 < graph->size() ? 1U : 0U), "a node has one parent");
    }
  }
}

}  // namespace
}  // namespace volvox::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::int32_t> parents;
  for (std::size_t at = 0; at + 1 < size; at += 2)
    parents.push_back(static_cast<std::int16_t>(data[at] | data[at + 1] << 8));
  volvox::fuzz::check_unfolding(volvox::TreeStructure{parents});
  return 0;
}
