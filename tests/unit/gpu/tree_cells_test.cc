#include "cells/library/child_sum.h"
#include "cells/library/tree_lstm.h"
#include "tests/unit/gpu/gpu_cells.h"

namespace volvox::gpu {
namespace {

class GpuTrees : public GpuCells {};

TEST_P(GpuTrees, RunBinaryTrees) {
  constexpr std::int64_t kHidden = 20;
  const Weights weights = random_weights()
                              .add("t.leaf.embedding", {kVocabulary, 9})
                              .add("t.leaf.weight", {3 * kHidden, 9})
                              .add("t.leaf.bias", {3 * kHidden})
                              .add("t.internal.left", {5 * kHidden, kHidden})
                              .add("t.internal.right", {5 * kHidden, kHidden})
                              .add("t.internal.bias", {5 * kHidden})
                              .weights();
  expect_near(tree_lstm_leaf_cell("leaf", "t", {9, kHidden}, &weights).value(), weights);
  expect_near(tree_lstm_internal_cell("internal", "t", {9, kHidden}, &weights).value(), weights);
}

TEST_P(GpuTrees, RunRaggedTrees) {
  constexpr std::int64_t kHidden = 20;
  const Weights weights = random_weights()
                              .add("sum.embedding", {kVocabulary, 9})
                              .add("sum.weight", {3 * kHidden, 9})
                              .add("sum.children", {3 * kHidden, kHidden})
                              .add("sum.bias", {3 * kHidden})
                              .add("sum.forget_weight", {kHidden, 9})
                              .add("sum.forget_child", {kHidden, kHidden})
                              .add("sum.forget_bias", {kHidden})
                              .weights();
  expect_near(child_sum_cell("sum", {9, kHidden}, &weights).value(), weights);
}

INSTANTIATE_TEST_SUITE_P(All, GpuTrees, ::testing::Values(host_backend(), gpu_backend()), backend_name);

}  // namespace
}  // namespace volvox::gpu
