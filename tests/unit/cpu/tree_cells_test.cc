#include "cells/library/child_sum.h"
#include "cells/library/tree_gru.h"
#include "cells/library/tree_lstm.h"
#include "same_bits.h"
#include "tests/unit/cells/tree_weights.h"

namespace volvox::cpu {
namespace {

TEST(GenericCell, RunsTreeLstmLeavesAsTheEvaluatorDoes) {
  for (std::int64_t hidden : {1, 7, 20, 33}) {
    const Weights weights = tree_lstm_weights(RandomWeights(), 9, hidden);
    expect_same_bits(tree_lstm_leaf_cell("leaf", "t", {9, hidden}, &weights).value(), weights);
  }
}

TEST(GenericCell, RunsBinaryTreesAsTheEvaluatorDoes) {
  for (std::int64_t hidden : {1, 7, 20, 33}) {
    const Weights weights = tree_lstm_weights(RandomWeights(), 9, hidden);
    expect_same_bits(tree_lstm_internal_cell("internal", "t", {9, hidden}, &weights).value(), weights);
  }
}

TEST(GenericCell, RunsRaggedPredecessorsAsTheEvaluatorDoes) {
  for (std::int64_t hidden : {1, 7, 20, 33}) {
    const Weights weights = child_sum_weights(RandomWeights(), 9, hidden);
    expect_same_bits(child_sum_cell("sum", {9, hidden}, &weights).value(), weights);
  }
}

TEST(GenericCell, RunsATreeGruAsTheEvaluatorDoes) {
  for (std::int64_t hidden : {1, 7, 20, 33}) {
    const Weights weights = tree_gru_weights(RandomWeights(), 9, hidden);
    expect_same_bits(tree_gru_cell("g", {9, hidden}, &weights).value(), weights);
  }
}

TEST(CostProbe, MeasuresCellsWithRaggedPredecessors) {
  const auto device = CpuDevice::make({}).value();
  const Weights weights = child_sum_weights(RandomWeights(), 6, 4);
  const Cell cell = child_sum_cell("sum", {6, 4}, &weights).value();
  ASSERT_TRUE(device->add_pool(0, cell.states, 100));
  const auto compiled = device->compile(0, cell, weights, {.max_batch = 32});
  ASSERT_TRUE(compiled) << compiled.error().message;
  EXPECT_EQ(compiled->costs.back().rows, 32U);
}

}  // namespace
}  // namespace volvox::cpu
