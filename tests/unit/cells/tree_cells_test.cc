#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cells/ir/check_hash.h"
#include "cells/ir/evaluate.h"
#include "cells/ir/split.h"
#include "cells/library/check.h"
#include "cells/library/check_tree.h"
#include "cells/library/child_sum.h"
#include "cells/library/tree_lstm.h"
#include "cells/patterns/lstm.h"
#include "tests/unit/cells/by_hand.h"
#include "tests/unit/cells/cells_testing.h"
#include "tests/unit/cells/row_runner.h"

// The cells of TreeLSTMs, by their equations.

namespace volvox {
namespace {

using testing_cells::dot;
using testing_cells::NodeResult;
using testing_cells::NodeState;
using testing_cells::RowRunner;
using testing_cells::sigmoid;
using testing_cells::table_row;
using testing_cells::values_of;
using testing_cells::WeightsMaker;

TEST(TreeCells, CheckTreeCellHashesItsTokenAndThenItsChildren) {
  RowRunner<float> runner(*check_tree_cell("check"), Weights{});
  const std::int32_t tokens[] = {5, -1, 7};
  const NodeResult a = runner.run({}, {&tokens[0]}), b = runner.run({}, {&tokens[1]});
  const auto number = [](const NodeResult& node) {
    return values_of<std::uint64_t>(node.pushes.at("state"))[0];
  };
  EXPECT_EQ(number(a), check_hash(0, 5));
  EXPECT_EQ(number(b), check_hash(0, static_cast<std::uint64_t>(-1)));
  const NodeResult both = runner.run({}, {&tokens[2]}, {&b.states, &a.states});
  EXPECT_EQ(number(both), check_hash(check_hash(check_hash(0, 7), number(b)), number(a)));
}

TEST(TreeCells, BinaryTreeLstmFollowsItsEquations) {
  Random random(9);
  WeightsMaker maker;
  const std::int64_t n = 4;
  maker.add_random("t.leaf.embedding", {6, 3}, random).add_random("t.leaf.weight", {3 * n, 3}, random);
  maker.add_random("t.leaf.bias", {3 * n}, random).add_random("t.internal.left", {5 * n, n}, random);
  maker.add_random("t.internal.right", {5 * n, n}, random).add_random("t.internal.bias", {5 * n}, random);
  const Weights weights = maker.weights();
  const CellSizes sizes{.input = 3, .hidden = n};
  RowRunner<double> leaf(*tree_lstm_leaf_cell("leaf", "t", sizes, &weights), weights);
  RowRunner<double> internal(*tree_lstm_internal_cell("internal", "t", sizes, &weights), weights);
  const std::int32_t left_token = 2, right_token = 5;
  const NodeResult left = leaf.run({}, {&left_token}), right = leaf.run({}, {&right_token});
  const NodeResult root = internal.run({&left.states, &right.states}, {});

  const auto x = table_row(weights.all().at("t.leaf.embedding"), 2);
  const auto h0 = values_of<double>(left.states.at("h")), c0 = values_of<double>(left.states.at("c"));
  const auto h1 = values_of<double>(right.states.at("h")), c1 = values_of<double>(right.states.at("c"));
  const auto leaf_z = [&](std::size_t j) {
    return weights.find("t.leaf.bias")->f32()[j] + dot(*weights.find("t.leaf.weight"), j, x);
  };
  const auto z = [&](std::size_t j) {
    return weights.find("t.internal.bias")->f32()[j] + dot(*weights.find("t.internal.left"), j, h0) +
           dot(*weights.find("t.internal.right"), j, h1);
  };
  for (std::size_t j = 0; j < 4; ++j) {
    EXPECT_NEAR(c0[j], sigmoid(leaf_z(j)) * std::tanh(leaf_z(4 + j)), 1e-12);
    EXPECT_NEAR(h0[j], sigmoid(leaf_z(8 + j)) * std::tanh(c0[j]), 1e-12);
    const double c =
        sigmoid(z(j)) * std::tanh(z(12 + j)) + sigmoid(z(4 + j)) * c0[j] + sigmoid(z(8 + j)) * c1[j];
    EXPECT_NEAR(values_of<double>(root.states.at("c"))[j], c, 1e-12);
    EXPECT_NEAR(values_of<double>(root.pushes.at("h"))[j], sigmoid(z(16 + j)) * std::tanh(c), 1e-12);
  }
}

Weights child_sum_weights(std::int64_t input, std::int64_t n) {
  Random random(10);
  WeightsMaker maker;
  maker.add_random("cs.embedding", {6, input}, random).add_random("cs.weight", {3 * n, input}, random);
  maker.add_random("cs.children", {3 * n, n}, random).add_random("cs.bias", {3 * n}, random);
  maker.add_random("cs.forget_weight", {n, input}, random).add_random("cs.forget_child", {n, n}, random);
  maker.add_random("cs.forget_bias", {n}, random);
  return maker.weights();
}

// Children that differ in number, none included; each forgotten on its own.
TEST(TreeCells, ChildSumFollowsItsEquationsForAnyNumberOfChildren) {
  const std::size_t n = 3;
  const Weights weights = child_sum_weights(4, n);
  RowRunner<double> runner(*child_sum_cell("cs", {.input = 4, .hidden = n}, &weights), weights);
  const std::int32_t token = 1;
  std::vector<NodeState> nodes;
  for (std::size_t children : {0U, 1U, 2U, 3U, 0U, 5U}) {
    std::vector<const NodeState*> list;
    for (std::size_t i = 0; i < children; ++i) list.push_back(&nodes[i % nodes.size()]);
    const NodeResult node = runner.run({}, {&token}, list);
    const auto x = table_row(weights.all().at("cs.embedding"), 1);
    std::vector<double> sum(n, 0);
    for (const NodeState* child : list) {
      for (std::size_t j = 0; j < n; ++j) sum[j] += values_of<double>(child->at("h"))[j];
    }
    for (std::size_t j = 0; j < n; ++j) {
      const auto z = [&](std::size_t r) {
        return weights.find("cs.bias")->f32()[r] + dot(*weights.find("cs.weight"), r, x) +
               dot(*weights.find("cs.children"), r, sum);
      };
      double c = sigmoid(z(j)) * std::tanh(z(n + j));
      for (const NodeState* child : list) {
        const double f = weights.find("cs.forget_bias")->f32()[j] +
                         dot(*weights.find("cs.forget_weight"), j, x) +
                         dot(*weights.find("cs.forget_child"), j, values_of<double>(child->at("h")));
        c += sigmoid(f) * values_of<double>(child->at("c"))[j];
      }
      EXPECT_NEAR(values_of<double>(node.states.at("c"))[j], c, 1e-12) << children << " children";
      EXPECT_NEAR(values_of<double>(node.states.at("h"))[j], sigmoid(z(2 * n + j)) * std::tanh(c), 1e-12);
    }
    nodes.push_back(node.states);
  }
}

TEST(TreeCells, RaggedValuesSpreadAndAreSummed) {
  const Result<Cell> cell = child_sum_cell("cs", {.input = 6, .hidden = 4});
  ASSERT_TRUE(cell) << cell.error().message;
  EXPECT_TRUE(cell->gathers_all);
  EXPECT_EQ(cell->gathers, 0U);
  int ragged = 0;
  for (const Value& value : cell->values) ragged += value.ragged ? 1 : 0;
  EXPECT_EQ(ragged, 5);  // h, c, f before and after its sigmoid, f·c
}

TEST(TreeCells, CutsInsideARaggedProduct) {
  Random random(4);
  WeightsMaker maker;
  maker.add_random("cs.embedding", {6, 4}, random).add_random("cs.weight", {9, 4}, random);
  maker.add_random("cs.children", {9, 3}, random).add_random("cs.bias", {9}, random);
  maker.add_random("cs.forget_weight", {3, 4}, random).add_random("cs.forget_child", {3, 3}, random);
  maker.add_random("cs.forget_bias", {3}, random);
  const Weights weights = maker.weights();
  const Result<Cell> cell = child_sum_cell("cs", {.input = 4, .hidden = 3}, &weights);
  const Result<SplitCell> split = split_cell(*cell);
  ASSERT_TRUE(split && split->eager);
  EXPECT_EQ(split->eager->states.size(), 2U);  // W·x of the gates, and of the forget gate
  EXPECT_EQ(split->gather, 0U);
  EXPECT_EQ(split->core.gathers, 1U);
  EXPECT_TRUE(split->core.gathers_all);
  EXPECT_EQ(split->core.pulls, 0U);

  RowRunner<float> whole(*cell, weights), eager(*split->eager, weights), core(split->core, weights);
  std::vector<NodeState> nodes;
  for (std::int32_t token = 0; token < 5; ++token) {
    std::vector<const NodeState*> children;
    for (const NodeState& node : nodes) children.push_back(&node);
    const NodeResult at_once = whole.run({}, {&token}, children);
    const NodeResult first = eager.run({}, {&token});
    ASSERT_EQ(at_once.states, core.run({&first.states}, {}, children).states) << token << " children";
    nodes.push_back(at_once.states);
  }
}

TEST(TreeCells, HaveNothingEagerWhereTheyReadStatesOnly) {
  const CellSizes sizes{.input = 5, .hidden = 3};
  for (const Result<Cell>& cell :
       {tree_lstm_leaf_cell("leaf", "t", sizes), tree_lstm_internal_cell("internal", "t", sizes)}) {
    const Result<SplitCell> split = split_cell(*cell);
    ASSERT_TRUE(split);
    EXPECT_FALSE(split->eager) << cell->name;
    EXPECT_EQ(split->core.operators.size(), cell->operators.size());
  }
}

TEST(TreeCells, AreNoLstms) {
  const CellSizes sizes{.input = 4, .hidden = 8};
  EXPECT_FALSE(match_lstm(tree_lstm_leaf_cell("leaf", "tree", sizes).value()));
  EXPECT_FALSE(match_lstm(tree_lstm_internal_cell("internal", "tree", sizes).value()));
  EXPECT_FALSE(match_lstm(child_sum_cell("sum", sizes).value()));
  EXPECT_TRUE(match_lstm(tree_lstm_leaf_cell("leaf", "tree", sizes).value(), 0));
  EXPECT_TRUE(match_lstm(tree_lstm_internal_cell("internal", "tree", sizes).value(), 2));
}

}  // namespace
}  // namespace volvox
