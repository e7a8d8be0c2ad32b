#include "cells/library/lstm.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "chain_fixture.h"
#include "cpu/isa.h"
#include "fused/lstm_fixture.h"

namespace volvox::cpu {
namespace {

void expect_near(const std::vector<float>& got, const std::vector<float>& want, const char* what) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], 2e-6 * std::max(1.0F, std::abs(want[i]))) << what << " " << i;
  }
}

TEST(Lstm, AgreesWithDoublePrecision) {
  ThreadTeam team(2);
  for (std::size_t hidden : {1, 7, 16, 33, 64, 100}) {
    for (std::size_t rows : {1, 2, 6, 7, 25}) {
      LstmFixture lstm(hidden + 3, hidden, rows);
      const auto want = lstm.exact(0, rows);
      for (Isa isa : supported_isas()) {
        const auto got = lstm.full(*kernels_for(isa), team, 0, rows);
        expect_near(got.h, want.h, "h");
        expect_near(got.c, want.c, "c");
      }
    }
  }
}

TEST(Lstm, RunsWholeCellsAndTheCoresOfSplitOnes) {
  const Weights weights = lstm_weights(8, 8);
  for (const bool split : {false, true}) {
    ChainRunner runner(CpuOptions{.isa = Isa::kPortable});
    runner.load(lstm_cell("lstm", {8, 8}, &weights).value(), weights, split);
    EXPECT_EQ(runner.compiled[ChainRunner::kCell].kernel, "lstm portable");
    EXPECT_EQ(runner.compiled[ChainRunner::kCell].flops_per_row, 2.0 * (split ? 8 : 16) * 32);
  }
}

}  // namespace
}  // namespace volvox::cpu
