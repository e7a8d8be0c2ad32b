#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "cells/library/lstm.h"
#include "cells/ops/ops.h"
#include "tests/sanitized.h"
#include "tests/unit/device/convolution_cell.h"
#include "tests/unit/gpu/gpu_cells.h"
#include "tests/unit/gpu/random_cell.h"

// Whatever a cell is made of, a GPU computes what the interpreter computes in double precision, within the
// precision that was asked for.
namespace volvox::gpu {
namespace {

bool slides(const Operator& op) {
  return op.is(kConvolutionOp);
}

TEST_P(GpuCells, RunLstms) {
  for (std::int64_t hidden : {1, 7, 33}) {
    const Weights weights = lstm_weights(hidden + 1, hidden);
    expect_near(lstm_cell("lstm", {hidden + 1, hidden}, &weights).value(), weights);
  }
}

TEST_P(GpuCells, RunConvolutions) {
  if (!has_convolutions()) GTEST_SKIP() << reason_;
  for (const Convolution& c : {kPlanes, line_of(50)}) {
    const ConvolutionCell made = convolution_cell(c, random_weights());
    expect_near(made.cell, made.weights);
  }
}

TEST_P(GpuCells, RunCellsOfAnyOperators) {
  constexpr std::int64_t kHidden = 12;
  const Weights weights = random_cell_weights(kHidden);
  const bool convolutions = has_convolutions();
  constexpr int kCells = kSanitized ? 12 : 60;
  int compared = 0, choosing = 0, sliding = 0;
  for (std::uint32_t seed = 1; compared < kCells; ++seed) {
    const Cell cell = random_cell(seed, kHidden, weights);
    const bool slid = std::any_of(cell.operators.begin(), cell.operators.end(), slides);
    if (slid && !convolutions) continue;
    const auto clear = [&](std::uint32_t rows) { return least_margin(cell, weights, rows) > 1e-4; };
    if (!std::all_of(std::begin(kRows), std::end(kRows), clear)) continue;
    expect_near(cell, weights, {}, 3e-5);
    expect_near(cell, weights, {.plain = true, .interpreted = true},
                3e-5);  // compiling takes longer than running
    if (IsSkipped() || HasFailure()) return;
    ++compared;
    if (std::isfinite(least_margin(cell, weights, 1))) ++choosing;
    if (slid) ++sliding;
  }
  EXPECT_GE(choosing, kCells / 4) << "cells with an argmax";
  if (!convolutions) GTEST_SKIP() << "without convolutions: " << reason_;
  EXPECT_GE(sliding, kCells / 4) << "cells with a convolution";
}

TEST_P(GpuCells, CompiledStagesGiveTheBitsOfInterpretedOnes) {
  constexpr std::int64_t kHidden = 12;
  const auto both = driver();
  if (!both) GTEST_SKIP() << reason_;
  const Weights random = random_cell_weights(kHidden), wide = lstm_weights(33, 600);
  std::vector<std::pair<Cell, Weights>> cells{{lstm_cell("lstm", {33, 600}, &wide).value(), wide}};
  for (std::uint32_t seed = 1; seed <= 12; ++seed)
    cells.emplace_back(random_cell(seed, kHidden, random), random);
  for (const auto& [cell, weights] : cells) {
    if (std::any_of(cell.operators.begin(), cell.operators.end(), slides) && !has_convolutions()) continue;
    CellBatch batch(cell, weights, 13);
    const CellRun run{.padded = 16, .max_batch = 16};
    auto compiled = device_on(both, {.path = KernelPath::kGeneric});
    auto interpreted = device_on(both, {.path = KernelPath::kGeneric, .interpreted = true});
    const auto results = batch.on_device(*compiled, run);
    EXPECT_EQ(batch.kernel(), fake_ ? "generic float32" : "compiled float32");
    EXPECT_EQ(results, batch.on_device(*interpreted, run)) << cell.name;
    EXPECT_EQ(batch.kernel(), "generic float32");
  }
}

TEST_P(GpuCells, AnswersDoNotDependOnTheNeighbours) {
  const Weights weights = lstm_weights(33, 32);
  const Cell cell = lstm_cell("lstm", {33, 32}, &weights).value();
  for (const CellOptions& options : {CellOptions{}, CellOptions{.precision = Precision::kBfloat16}}) {
    CellBatch batch(cell, weights, 13);
    // One driver: two might choose different algorithms for one product, each by its own measurement.
    const auto both = driver();
    if (!both) GTEST_SKIP() << reason_;
    auto together = device_on(both, options), apart = device_on(both, options);
    EXPECT_EQ(batch.on_device(*together, {.padded = 16}),
              batch.on_device(*apart, {.padded = 16, .row_by_row = true}))
        << "the same bits";
  }
}

TEST_P(GpuCells, ReproducibleAnswersDoNotDependOnTheBatchSize) {
  const Weights weights = lstm_weights(33, 32);
  const Cell cell = lstm_cell("lstm", {33, 32}, &weights).value();
  const CellOptions options{.precision = Precision::kBfloat16, .reproducible = true};
  CellBatch batch(cell, weights, 70);
  const auto both = driver();
  if (!both) GTEST_SKIP() << reason_;
  auto together = device_on(both, options), apart = device_on(both, options);
  EXPECT_EQ(batch.on_device(*together, {.padded = 128}),
            batch.on_device(*apart, {.padded = 1, .row_by_row = true}))
      << "the same bits";
}

INSTANTIATE_TEST_SUITE_P(All, GpuCells, ::testing::Values(host_backend(), gpu_backend()), backend_name);

}  // namespace
}  // namespace volvox::gpu
