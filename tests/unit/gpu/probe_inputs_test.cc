#include "gpu/queue/probe_inputs.h"

#include <set>

#include <gtest/gtest.h>

#include "cells/ir/cell_builder.h"
#include "cells/library/lstm.h"
#include "tests/unit/gpu/fake_driver.h"
#include "tests/unit/gpu/gpu_cells.h"

namespace volvox::gpu {
namespace {

constexpr std::uint32_t kManyRows = 100;

TEST(ProbeInputs, ChooseRowsAllOverTheTable) {
  const Weights weights = lstm_weights(8, 8);
  const Cell cell = lstm_cell("lstm", {8, 8}, &weights).value();
  FakeDriver driver;
  const auto inputs = ProbeInputs::make(driver, cell, weights, kManyRows);
  ASSERT_TRUE(inputs) << inputs.error().message;
  std::set<std::int32_t> ids;
  for (std::uint32_t row = 0; row < kManyRows; ++row) {
    RowBinding binding;
    inputs->bind(binding, row);
    ASSERT_EQ(binding.pulls[0].stride_bytes, sizeof(std::int32_t));
    const std::int32_t id = *at<const std::int32_t>(binding.pulls[0].address);
    ASSERT_GE(id, 0);
    ASSERT_LT(id, kVocabulary);
    ids.insert(id);
  }
  EXPECT_GT(ids.size(), kVocabulary / 2U);
}

TEST(ProbeInputs, AreNumbersWhereTheCellComputesWithThem) {
  CellBuilder b("sum");
  b.push("sum", b.apply("add", {b.pull("x", DType::kF32, {3}), b.pull("y", DType::kF32, {3})}));
  const Cell cell = b.build().value();
  FakeDriver driver;
  const auto inputs = ProbeInputs::make(driver, cell, {}, kManyRows);
  ASSERT_TRUE(inputs) << inputs.error().message;
  std::set<float> values;
  RowBinding binding;
  inputs->bind(binding, 0);
  for (const PullSource& pull : binding.pulls) {
    ASSERT_EQ(pull.stride_bytes, 3 * sizeof(float));
    for (std::uint32_t i = 0; i < 3 * kManyRows; ++i) values.insert(at<const float>(pull.address)[i]);
  }
  EXPECT_GT(values.size(), kManyRows);
}

}  // namespace
}  // namespace volvox::gpu
