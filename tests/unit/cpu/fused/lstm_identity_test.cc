#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "cpu/isa.h"
#include "fused/lstm_fixture.h"

// No bit of a row's result depends on what it ran with: batch size, neighbours, threads, instruction set, or
// whether W·x was computed beforehand.
namespace volvox::cpu {
namespace {

using State = LstmFixture::State;

// Row `row` of a result.
State row_of(const State& all, std::size_t row, std::size_t hidden) {
  const auto cut = [&](const std::vector<float>& v) {
    const auto begin = v.begin() + static_cast<std::ptrdiff_t>(row * hidden);
    return std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(hidden));
  };
  return {cut(all.h), cut(all.c)};
}

struct Size {
  std::size_t input, hidden;
};
constexpr Size kSizes[] = {{1, 1}, {5, 7}, {16, 16}, {20, 33}, {64, 64}, {100, 100}};

TEST(Identity, EveryBatchSize) {
  constexpr std::size_t kRows = 512;
  const Kernels& kernels = *kernels_for(Isa::kAuto);
  ThreadTeam team(1);
  for (const Size size : kSizes) {
    LstmFixture lstm(size.input, size.hidden, kRows);
    const State all = lstm.full(kernels, team, 0, kRows);
    for (std::size_t batch : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 31, 64, 97, 193, 300, 511}) {
      const std::size_t first = kRows - batch;
      const State part = lstm.full(kernels, team, first, batch);
      for (std::size_t r = 0; r < batch; ++r) {
        ASSERT_EQ(row_of(part, r, size.hidden), row_of(all, first + r, size.hidden))
            << "hidden " << size.hidden << " batch " << batch << " row " << r;
      }
    }
  }
}

TEST(Identity, EveryInstructionSet) {
  ThreadTeam team(1);
  for (const Size size : kSizes) {
    LstmFixture lstm(size.input, size.hidden, 50);
    const State want = lstm.full(*portable_kernels(), team, 0, 50);
    for (Isa isa : supported_isas()) {
      EXPECT_EQ(lstm.full(*kernels_for(isa), team, 0, 50), want) << to_string(isa) << " " << size.hidden;
    }
  }
}

TEST(Identity, OneTwoOrMoreThreads) {
  const Kernels& kernels = *kernels_for(Isa::kAuto);
  ThreadTeam one(1);
  for (const Size size : {Size{33, 33}, Size{64, 64}, Size{100, 260}}) {
    LstmFixture lstm(size.input, size.hidden, 300);
    const State want = lstm.full(kernels, one, 0, 300);
    for (std::uint32_t threads : {2U, 3U, 5U}) {
      ThreadTeam team(threads);
      for (int repeat = 0; repeat < 3; ++repeat) {
        ASSERT_EQ(lstm.full(kernels, team, 0, 300), want) << threads << " threads, hidden " << size.hidden;
      }
    }
  }
}

TEST(Identity, EagerOnOrOff) {
  ThreadTeam team(2);
  for (Isa isa : supported_isas()) {
    for (const Size size : kSizes) {
      LstmFixture lstm(size.input, size.hidden, 40);
      const State full = lstm.full(*kernels_for(isa), team, 0, 40);
      EXPECT_EQ(lstm.eager_and_core(*kernels_for(isa), team, 0, 40), full)
          << to_string(isa) << " " << size.hidden;
      EXPECT_EQ(row_of(lstm.eager_and_core(*kernels_for(isa), team, 17, 1), 0, size.hidden),
                row_of(full, 17, size.hidden));
    }
  }
}

// Long enough that accumulators are parked between stretches of k, with stretches that end inside a term.
TEST(Identity, LongChains) {
  ThreadTeam one(1), two(2);
  LstmFixture lstm(2500, 700, 14);
  const State want =
      lstm.full(*kernels_for(supported_isas()[supported_isas().size() > 2 ? 1 : 0]), one, 0, 14);
  EXPECT_EQ(lstm.full(*kernels_for(Isa::kAuto), two, 0, 14), want);
  EXPECT_EQ(lstm.eager_and_core(*kernels_for(Isa::kAuto), one, 0, 14), want);
  EXPECT_EQ(row_of(lstm.full(*kernels_for(Isa::kAuto), one, 13, 1), 0, 700), row_of(want, 13, 700));
}

}  // namespace
}  // namespace volvox::cpu
