#include "cpu/cost_probe.h"

#include "cells/library/child_sum.h"
#include "cells/library/lstm.h"
#include "chain_fixture.h"

namespace volvox::cpu {
namespace {

std::vector<CompiledCell::Cost> costs_of(CpuOptions options, std::uint32_t slots, std::uint32_t max_batch) {
  const auto device = CpuDevice::make(options).value();
  const Weights weights = lstm_weights(16, 16);
  const Cell cell = lstm_cell("lstm", {16, 16}, &weights).value();
  EXPECT_TRUE(device->add_pool(0, cell.states, slots));
  const auto compiled = device->compile(0, cell, weights, {.max_batch = max_batch});
  EXPECT_TRUE(compiled);
  EXPECT_TRUE(compiled->sizes.empty()) << "every size is supported";
  return compiled->costs;
}

TEST(CostProbe, CoversEverySizeInOrder) {
  for (const CpuOptions& options : {CpuOptions{}, CpuOptions{.measure = false}, CpuOptions{.threads = 2}}) {
    for (std::uint32_t slots : {2U, 3U, 20U, 1000U}) {
      for (std::uint32_t max_batch : {1U, 2U, 48U, 64U}) {
        const auto costs = costs_of(options, slots, max_batch);
        ASSERT_FALSE(costs.empty());
        EXPECT_EQ(costs.front().rows, 1U);
        EXPECT_EQ(costs.back().rows, max_batch);
        for (std::size_t i = 0; i < costs.size(); ++i) {
          EXPECT_GT(costs[i].us, 0);
          EXPECT_GT(costs[i].rows, i == 0 ? 0 : costs[i - 1].rows);
        }
      }
    }
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
