#include "gpu/program/cell_plan.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "cells/ir/cell_builder.h"
#include "gpu/program/plan_leaves.h"
#include "tests/unit/gpu/random_cell.h"

// What plans hold, of a cell that chooses among many words.
namespace volvox::gpu {
namespace {

constexpr std::int64_t kInput = 8, kWords = 300;

class Plans : public ::testing::Test {
 protected:
  // `beside`: the numbers that are chosen from are an output as well.
  CellPlan plan(bool bias, bool beside) {
    const Weights weights = random_weights().add("w", {kWords, kInput}).add("b", {kWords}).weights();
    CellBuilder b("choice");
    const ValueId x = b.pull("x", DType::kF32, {kInput});
    const ValueId numbers = bias ? b.product({{"w", x}}, {.bias = "b", .width = kWords})
                                 : b.product({{"w", x}}, {.width = kWords});
    if (beside) b.push("numbers", numbers);
    b.push("word", b.argmax(numbers));
    const Cell cell = b.build(&weights, "choices").value();
    PlanOptions options;
    options.compile.max_batch = 4;
    PlanResources resources;
    resources.pool = [](PoolId) { return nullptr; };
    resources.keep = [this](std::span<const std::byte> bytes) -> Result<DeviceAddress> {
      kept_.push_back(std::make_unique<std::vector<std::byte>>(bytes.begin(), bytes.end()));
      return reinterpret_cast<std::uintptr_t>(kept_.back()->data());
    };
    PlanLeaves leaves(cell, weights, options, resources);
    return plan_cell(leaves).value();
  }
  static bool has_wide_stage(const CellPlan& plan) {
    for (const StagePlan& stage : plan.stages) {
      if (stage.widest >= kWords) return true;
    }
    return false;
  }

  std::vector<std::unique_ptr<std::vector<std::byte>>> kept_;
};

TEST_F(Plans, AnArgmaxReadsSumsAsTheyLie) {
  const CellPlan with = plan(true, false), without = plan(false, false);
  for (const CellPlan* plan : {&with, &without}) {
    ASSERT_EQ(plan->argmaxes.size(), 1U);
    ASSERT_EQ(plan->products.size(), 1U);
    EXPECT_EQ(plan->argmaxes[0].x.base, plan->products[0].out);
    EXPECT_FALSE(has_wide_stage(*plan)) << "nobody copies them";
  }
  EXPECT_NE(with.argmaxes[0].bias, 0U);
  EXPECT_EQ(without.argmaxes[0].bias, 0U);
}

TEST_F(Plans, WhatGoesElsewhereHasItsBiasThere) {
  const CellPlan both = plan(true, true);
  ASSERT_EQ(both.argmaxes.size(), 1U);
  EXPECT_NE(both.argmaxes[0].bias, 0U);
  EXPECT_TRUE(has_wide_stage(both)) << "that which pushes them";
}

}  // namespace
}  // namespace volvox::gpu
