#include "cells/library/tree_gru.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/unit/cells/by_hand.h"
#include "tests/unit/cells/row_runner.h"
#include "tests/unit/cells/tree_weights.h"

namespace volvox {
namespace {

using testing_cells::dot;
using testing_cells::NodeResult;
using testing_cells::NodeState;
using testing_cells::RowRunner;
using testing_cells::sigmoid;
using testing_cells::table_row;
using testing_cells::values_of;

using Vector = std::vector<double>;

// h of a node, from x and h of each child.
Vector by_hand(const Weights& weights, const Vector& x, const std::vector<Vector>& children, std::size_t n) {
  const auto gate = [&](const std::string& which, const char* of_child, const Vector& child, std::size_t j) {
    const auto tensor = [&](const std::string& name) -> const Tensor& {
      return *weights.find("g." + which + name);
    };
    return tensor("bias").f32()[j] + dot(tensor("weight"), j, x) + dot(tensor(of_child), j, child);
  };
  Vector sum(n), kept(n), h;
  for (const Vector& child : children) {
    for (std::size_t j = 0; j < n; ++j) {
      sum[j] += child[j];
      kept[j] += sigmoid(gate("reset_", "child", child, j)) * child[j];
    }
  }
  for (std::size_t j = 0; j < n; ++j) {
    const double z = sigmoid(gate("update_", "children", sum, j));
    h.push_back(z * sum[j] + (1 - z) * std::tanh(gate("", "children", kept, j)));
  }
  return h;
}

TEST(TreeGru, FollowsItsEquationsForAnyNumberOfChildren) {
  constexpr std::size_t kHidden = 3;
  const Weights weights = tree_gru_weights(RandomWeights(), 4, kHidden);
  const auto cell = tree_gru_cell("g", {.input = 4, .hidden = kHidden}, &weights);
  ASSERT_TRUE(cell) << cell.error().message;
  RowRunner<double> runner(*cell, weights);
  const std::int32_t token = 1;
  std::vector<NodeState> nodes;
  for (const std::size_t children : {0U, 1U, 2U, 3U, 0U, 5U}) {
    std::vector<const NodeState*> list;
    std::vector<Vector> states;
    for (std::size_t i = 0; i < children; ++i) {
      list.push_back(&nodes[i % nodes.size()]);
      states.push_back(values_of<double>(list.back()->at("h")));
    }
    NodeResult node = runner.run({}, {&token}, list);
    const Vector want = by_hand(weights, table_row(*weights.find("g.embedding"), 1), states, kHidden);
    const auto got = values_of<double>(node.pushes.at("h"));
    for (std::size_t j = 0; j < kHidden; ++j) EXPECT_NEAR(got[j], want[j], 1e-12) << children << " children";
    nodes.push_back(std::move(node.states));
  }
}

}  // namespace
}  // namespace volvox
