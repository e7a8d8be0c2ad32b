#include "cpu/cost_probe.h"

#include "cells/ir/cell_builder.h"
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

// Nothing that it does can be in another row's way: what many rows take is measured, not multiplied.
TEST(CostProbe, ACellWithoutStateNeedsNoSlots) {
  const auto device = CpuDevice::make({}).value();
  const Weights weights = RandomWeights().add("out.weight", {256, 256}).add("out.bias", {256}).weights();
  CellBuilder b("out");
  b.push("y", b.product({{"out.weight", b.pull("x", DType::kF32, {256})}}, {.bias = "out.bias"}));
  const Cell cell = b.build(&weights).value();
  ASSERT_TRUE(device->add_pool(0, cell.states, kReservedSlots));
  const auto compiled = device->compile(0, cell, weights, {.max_batch = 64});
  ASSERT_TRUE(compiled) << compiled.error().message;
  ASSERT_EQ(compiled->costs.back().rows, 64U);
  const double multiplied = compiled->costs.front().us * 64;
  EXPECT_GT(std::abs(compiled->costs.back().us / multiplied - 1), 1e-9) << "it stands for the first";
}

}  // namespace
}  // namespace volvox::cpu
