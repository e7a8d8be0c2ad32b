#include "gpu/program/stage_source.h"

#include <string>

#include <gtest/gtest.h>

#include "cells/library/lstm.h"
#include "tests/sanitized.h"
#include "tests/unit/gpu/gpu_cells.h"
#include "tests/unit/gpu/stage_sources.h"
#include "tests/unit/gpu/stages_on_host.h"

namespace volvox::gpu {
namespace {

TEST(StageSourceTest, ComputesWhatInterpretedProgramsCompute) {
  constexpr std::int64_t kHidden = 12;
  std::vector<StageCase> cases;
  const Weights random = random_cell_weights(kHidden);
  for (std::uint32_t seed = 1; seed <= (kSanitized ? 6 : 16); ++seed)
    add_stage_cases(cases, random_cell(seed, kHidden, random), random);
  // Widths of one thread and of several rows a block, of several elements a thread, and of several pieces a
  // row.
  for (const std::int64_t hidden : {1, 7, 33, 600}) {
    const Weights weights = lstm_weights(8, hidden);
    add_stage_cases(cases, lstm_cell("lstm", {8, hidden}, &weights).value(), weights);
  }
  expect_the_bits_of_programs(cases);
}

TEST(StageSourceTest, IsTheSameForEqualCellsWhereverTheirWeightsLie) {
  const Weights weights = lstm_weights(8, 33);
  const StageCase c{lstm_cell("lstm", {8, 33}, &weights).value(), weights, {.path = KernelPath::kGeneric}};
  StageSources sources;
  const auto collect = [&](const StageSource& source) {
    sources.add(source);
    return std::vector<FakeDriver::Stage>{};
  };
  run_stages(c, collect);
  const std::size_t first = sources.all().size();
  EXPECT_GT(first, 0U);
  run_stages(c, collect);
  EXPECT_EQ(sources.all().size(), first);
}

TEST(StageCutTest, GivesEachElementToOneThread) {
  for (std::uint32_t width = 1; width < 3000; width += width < 40 ? 1 : 53) {
    const StageCut cut = stage_cut(width);
    const std::uint32_t piece = cut.row_threads * cut.each;
    EXPECT_EQ(kStageThreads % cut.row_threads, 0U) << width;
    EXPECT_GE(cut.pieces * piece, width);
    EXPECT_LT((cut.pieces - 1) * piece, width) << "no piece is empty";
    EXPECT_GE(stage_blocks(width, 7) * (kStageThreads / cut.row_threads), 7 * cut.pieces) << width;
  }
}

}  // namespace
}  // namespace volvox::gpu
