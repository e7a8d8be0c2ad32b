#include <vector>

#include <gtest/gtest.h>

#include "cells/library/child_sum.h"
#include "cells/library/tree_lstm.h"
#include "tests/unit/cells/tree_weights.h"
#include "tests/unit/gpu/gpu_cells.h"
#include "tests/unit/gpu/stages_on_host.h"

namespace volvox::gpu {
namespace {

TEST(TreeStages, ComputeWhatInterpretedProgramsCompute) {
  std::vector<StageCase> cases;
  const Weights tree = tree_lstm_weights(random_weights(), 9, 20);
  add_stage_cases(cases, tree_lstm_leaf_cell("leaf", "t", {9, 20}, &tree).value(), tree);
  add_stage_cases(cases, tree_lstm_internal_cell("internal", "t", {9, 20}, &tree).value(), tree);
  const Weights ragged = child_sum_weights(random_weights(), 9, 20);
  add_stage_cases(cases, child_sum_cell("sum", {9, 20}, &ragged).value(), ragged);
  expect_the_bits_of_programs(cases);
}

}  // namespace
}  // namespace volvox::gpu
