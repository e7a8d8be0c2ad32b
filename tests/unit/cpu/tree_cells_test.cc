#include "cells/library/child_sum.h"
#include "cells/library/tree_lstm.h"
#include "same_bits.h"

namespace volvox::cpu {
namespace {

TEST(GenericCell, RunsTreeLstmLeavesAsTheEvaluatorDoes) {
  for (std::int64_t hidden : {1, 7, 20, 33}) {
    const Weights weights = RandomWeights()
                                .add("t.leaf.embedding", {kVocabulary, 9})
                                .add("t.leaf.weight", {3 * hidden, 9})
                                .add("t.leaf.bias", {3 * hidden})
                                .weights();
    expect_same_bits(tree_lstm_leaf_cell("leaf", "t", {9, hidden}, &weights).value(), weights);
  }
}

TEST(GenericCell, RunsBinaryTreesAsTheEvaluatorDoes) {
  for (std::int64_t hidden : {1, 7, 20, 33}) {
    const Weights weights = RandomWeights()
                                .add("t.internal.left", {5 * hidden, hidden})
                                .add("t.internal.right", {5 * hidden, hidden})
                                .add("t.internal.bias", {5 * hidden})
                                .weights();
    expect_same_bits(tree_lstm_internal_cell("internal", "t", {9, hidden}, &weights).value(), weights);
  }
}

TEST(GenericCell, RunsRaggedPredecessorsAsTheEvaluatorDoes) {
  for (std::int64_t hidden : {1, 7, 20, 33}) {
    const Weights weights = RandomWeights()
                                .add("sum.embedding", {kVocabulary, 9})
                                .add("sum.weight", {3 * hidden, 9})
                                .add("sum.children", {3 * hidden, hidden})
                                .add("sum.bias", {3 * hidden})
                                .add("sum.forget_weight", {hidden, 9})
                                .add("sum.forget_child", {hidden, hidden})
                                .add("sum.forget_bias", {hidden})
                                .weights();
    expect_same_bits(child_sum_cell("sum", {9, hidden}, &weights).value(), weights);
  }
}

TEST(CostProbe, MeasuresCellsWithRaggedPredecessors) {
  const auto device = CpuDevice::make({}).value();
  const Weights weights = RandomWeights()
                              .add("sum.embedding", {kVocabulary, 6})
                              .add("sum.weight", {12, 6})
                              .add("sum.children", {12, 4})
                              .add("sum.bias", {12})
                              .add("sum.forget_weight", {4, 6})
                              .add("sum.forget_child", {4, 4})
                              .add("sum.forget_bias", {4})
                              .weights();
  const Cell cell = child_sum_cell("sum", {6, 4}, &weights).value();
  ASSERT_TRUE(device->add_pool(0, cell.states, 100));
  const auto compiled = device->compile(0, cell, weights, {.max_batch = 32});
  ASSERT_TRUE(compiled) << compiled.error().message;
  EXPECT_EQ(compiled->costs.back().rows, 32U);
}

}  // namespace
}  // namespace volvox::cpu
