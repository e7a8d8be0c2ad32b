#include "cells/library/lstm.h"
#include "tests/sanitized.h"
#include "tests/unit/gpu/gpu_cells.h"

namespace volvox::gpu {
namespace {

class FusedLstms : public GpuCells {};

TEST_P(FusedLstms, ComputeWhatTheInterpreterComputes) {
  for (std::int64_t hidden : {32, 64, 96}) {
    if (kSanitized && hidden > 32) break;
    const Weights weights = lstm_weights(64, hidden);
    const Cell cell = lstm_cell("lstm", {64, hidden}, &weights).value();
    for (Precision precision : {Precision::kTf32, Precision::kBfloat16, Precision::kFloat16}) {
      const double tolerance = precision == Precision::kTf32 ? kTf32Tolerance : 2e-2;
      expect_near(cell, weights, {.precision = precision, .path = KernelPath::kFused}, tolerance);
      if (fake_) {
        EXPECT_GT(fake_->fused_launches(), 0U);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, FusedLstms, ::testing::Values(host_backend(), gpu_backend()), backend_name);

}  // namespace
}  // namespace volvox::gpu
