// Lattices of a stranger, two bytes a number: how many characters, then where each word starts and ends. Each
// is refused by a typed error, or can be unfolded.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/structure.h"
#include "cells/unfold/lattice/lattice_plan.h"
#include "tests/fuzz/parts.h"

namespace volvox::fuzz {
namespace {

constexpr std::uint32_t kMaxWords = 100;

LatticePlan plan_of_both() {
  LatticePlan plan{.character = 0, .word = 1, .max_words = kMaxWords};
  plan.pulls = {0, 1};
  plan.pushes[0] = {.output = 0, .every = true};
  return plan;
}

// Node v of the graph reads what node v of the reference's order reads.
void check_node(const NodeGraph& graph, const ReferenceOrder& order, std::uint32_t v) {
  const ReferenceOrder::Node& node = order.nodes[v];
  require(graph.node(v).type == node.type && graph.node(v).pull_row == node.row, "a node is the same cell");
  const bool follows = node.gathers[0] != ReferenceOrder::kInitial;
  const auto read = graph.predecessors(v);
  require(read.size() == node.listed + (follows ? 1 : 0), "a node reads as many");
  require(!follows || read.front().node == node.gathers[0], "a node reads the one before it");
  for (std::uint32_t k = 0; k < node.listed; ++k)
    require(read[k + (follows ? 1 : 0)].node == order.list[node.first_listed + k], "a node reads its words");
}

// What passes can be unfolded: a word reads one character, and one character reads it.
void check_unfolding(const LatticeStructure& lattice) {
  const LatticePlan plan = plan_of_both();
  if (const Status sound = check_lattice(plan, lattice); !sound) return require_refusal(sound.error());
  const auto graph = unfold_lattice(plan, lattice, {});
  const ReferenceOrder order = order_lattice(plan, lattice);
  const std::size_t nodes = lattice.length + lattice.starts.size();
  require(graph && graph->size() == nodes && order.nodes.size() == nodes,
          "a lattice that was checked unfolds");
  for (std::uint32_t v = 0; v < nodes; ++v) {
    check_node(*graph, order, v);
    const bool is_word = graph->node(v).type == plan.word;
    require(!is_word || (graph->predecessors(v).size() == 1 && graph->successors(v).size() == 1),
            "a word lies between two characters");
  }
}

}  // namespace
}  // namespace volvox::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::int32_t> numbers;
  for (std::size_t at = 0; at + 1 < size; at += 2)
    numbers.push_back(static_cast<std::int16_t>(data[at] | data[at + 1] << 8));
  if (numbers.empty()) return 0;
  const auto length = static_cast<std::uint16_t>(numbers[0]);
  std::vector<std::int32_t> starts, ends;
  for (std::size_t i = 1; i < numbers.size(); ++i) (i % 2 == 1 ? starts : ends).push_back(numbers[i]);
  volvox::fuzz::check_unfolding(volvox::LatticeStructure{length, starts, ends});
  return 0;
}
