#include "cells/library/child_sum.h"
#include "cells/library/tree_lstm.h"
#include "tests/unit/cells/tree_weights.h"
#include "tests/unit/gpu/gpu_cells.h"

namespace volvox::gpu {
namespace {

class GpuTrees : public GpuCells {};

TEST_P(GpuTrees, RunBinaryTrees) {
  constexpr std::int64_t kHidden = 20;
  const Weights weights = tree_lstm_weights(random_weights(), 9, kHidden);
  expect_near(tree_lstm_leaf_cell("leaf", "t", {9, kHidden}, &weights).value(), weights);
  expect_near(tree_lstm_internal_cell("internal", "t", {9, kHidden}, &weights).value(), weights);
}

TEST_P(GpuTrees, RunRaggedTrees) {
  constexpr std::int64_t kHidden = 20;
  const Weights weights = child_sum_weights(random_weights(), 9, kHidden);
  expect_near(child_sum_cell("sum", {9, kHidden}, &weights).value(), weights);
}

INSTANTIATE_TEST_SUITE_P(All, GpuTrees, ::testing::Values(host_backend(), gpu_backend()), backend_name);

}  // namespace
}  // namespace volvox::gpu
