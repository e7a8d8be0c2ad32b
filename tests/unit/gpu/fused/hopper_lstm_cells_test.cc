#include <set>
#include <span>
#include <tuple>

#include "cells/library/lstm.h"
#include "gpu/fused/hopper_tile.h"
#include "tests/unit/gpu/gpu_cells.h"

// The step for Hopper as a device runs it: that it is chosen, and right in each way to cut a task into
// blocks.
namespace volvox::gpu {
namespace {

struct Size {
  std::uint32_t rows = 0;
  std::int64_t input = 0, hidden = 0;
};
constexpr std::uint32_t kMultiprocessors = 132;  // of an H100 and of an H200
constexpr Size kSmall[] = {{70, 64, 64}, {70, 960, 64}},
               kLarge[] = {{576, 64, 512}, {64, 128, 2048}, {128, 128, 2048}};

TEST(HopperSizes, ReachEveryCut) {
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> cuts;
  for (const std::span<const Size> sizes : {std::span<const Size>(kSmall), std::span<const Size>(kLarge)}) {
    for (const Size& size : sizes) {
      const auto hidden = static_cast<std::uint32_t>(size.hidden);
      const auto width = static_cast<std::uint32_t>(size.input) + hidden;
      const hopper::Cut cut =
          hopper::cut_of(size.rows, hidden, width, width - hidden, kMultiprocessors, false);
      cuts.emplace(cut.rows, cut.split, cut.mates);
    }
  }
  EXPECT_EQ(cuts.size(), 4U);
}

class FusedHopperLstms : public GpuCells {
 protected:
  void expect_right(std::span<const Size> sizes) {
    const auto opened = driver();
    if (!opened) GTEST_SKIP() << reason_;
    if (opened->info().major != 9) GTEST_SKIP() << "not a GPU of compute capability 9";
    for (const Size& size : sizes) {
      const Weights weights = lstm_weights(size.input, size.hidden);
      const Cell cell = lstm_cell("lstm", {size.input, size.hidden}, &weights).value();
      CellBatch batch(cell, weights, size.rows);
      const auto want = batch.in_evaluator<double, ReferenceMath>();
      for (const Precision precision : {Precision::kBfloat16, Precision::kFloat16}) {
        const auto made = device_on(opened, {.precision = precision, .path = KernelPath::kFused}, 4 << 20);
        EXPECT_LE(distance(batch.on_device(*made, {.max_batch = size.rows}), want), 2e-2)
            << size.rows << " rows, " << size.input << " → " << size.hidden;
        EXPECT_EQ(batch.kernel(), std::string("hopper_lstm ") + std::string(name_of(precision)));
      }
    }
  }
};

TEST_P(FusedHopperLstms, ComputeInCutsOfSmallTasks) {
  // On the host cuts make no difference.
  expect_right(std::span(kSmall).first(GetParam().name == "Gpu" ? 2 : 1));
}

TEST_P(FusedHopperLstms, ComputeInCutsOfLargeTasks) {
  if (GetParam().name != "Gpu") GTEST_SKIP() << "takes long on the host, where cuts make no difference";
  expect_right(kLarge);
}

INSTANTIATE_TEST_SUITE_P(All, FusedHopperLstms, ::testing::Values(host_backend(), gpu_backend()),
                         backend_name);

}  // namespace
}  // namespace volvox::gpu
