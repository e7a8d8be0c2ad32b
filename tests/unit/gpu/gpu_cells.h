#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "cells/model/reference.h"
#include "tests/unit/device/cell_batch.h"
#include "tests/unit/device/convolution_cell.h"
#include "tests/unit/gpu/backends.h"
#include "tests/unit/gpu/random_cell.h"

namespace volvox::gpu {

inline constexpr std::uint32_t kRows[] = {1, 13, 70};
// Of one step, relative to the largest output: ten bits of each factor's fraction.
inline constexpr double kTf32Tolerance = 4e-3;

// Of wide cells the weights are smaller, as those of trained ones are: else it is the sums' own size that is
// rounded.
inline Weights lstm_weights(std::int64_t input, std::int64_t hidden) {
  const auto width = static_cast<float>(std::max<std::int64_t>(input + hidden, 128));
  const float scale = 0.3F * std::sqrt(128 / width);
  return random_weights()
      .add("lstm.embedding", {kVocabulary, input}, 1.0F)
      .add("lstm.weight_ih", {4 * hidden, input}, scale)
      .add("lstm.weight_hh", {4 * hidden, hidden}, scale)
      .add("lstm.bias", {4 * hidden})
      .weights();
}

class GpuCells : public ::testing::TestWithParam<Backend> {
 protected:
  std::shared_ptr<Driver> driver() {
    auto opened = GetParam().open();
    if (!opened) {
      reason_ = opened.error().message;
      return nullptr;
    }
    fake_ = std::dynamic_pointer_cast<FakeDriver>(*opened);
    return *opened;
  }
  // Whether the driver has a library for convolutions; `reason_` says why not.
  bool has_convolutions() {
    const auto opened = driver();
    if (!opened) return true;  // nothing runs there at all
    const ConvolutionShape shape{kPlanes, 1, static_cast<std::uint32_t>(kPlanes.inputs()),
                                 static_cast<std::uint32_t>(kPlanes.outputs())};
    const auto planned = opened->plan(shape);
    if (!planned) reason_ = planned.error().message;
    return planned.has_value();
  }
  static std::unique_ptr<Device> device_on(std::shared_ptr<Driver> driver, CellOptions cells,
                                           std::size_t result_bytes = 1 << 20) {
    auto options = small_device(cells);
    options.result_bytes = result_bytes;
    options.measure = false;
    return GpuDevice::make(std::move(driver), options).value();
  }
  std::unique_ptr<Device> device(CellOptions cells) {
    auto opened = driver();
    return opened ? device_on(std::move(opened), cells) : nullptr;
  }
  void expect_near(const Cell& cell, const Weights& weights, CellOptions options, double tolerance) {
    for (std::uint32_t rows : kRows) {
      CellBatch batch(cell, weights, rows);
      auto made = device(options);
      if (!made) GTEST_SKIP() << reason_;
      EXPECT_LE(distance(batch.on_device(*made), batch.in_evaluator<double, ReferenceMath>()), tolerance)
          << cell.name << ", " << rows << " rows, " << name_of(options.precision);
    }
  }
  void expect_near(const Cell& cell, const Weights& weights) {
    expect_near(cell, weights, {}, 1e-5);
    expect_near(cell, weights, {.plain = true, .interpreted = true}, 1e-5);
    expect_near(cell, weights, {.precision = Precision::kTf32}, kTf32Tolerance);
    expect_near(cell, weights, {.precision = Precision::kBfloat16}, 2e-2);
    expect_near(cell, weights, {.precision = Precision::kFloat16}, 2e-2);
  }

  std::shared_ptr<FakeDriver> fake_;
  std::string reason_;
};

}  // namespace volvox::gpu
