#include "serving/tally.h"

#include <gtest/gtest.h>

namespace volvox {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{1h};

TEST(TallyTest, SumsUpWhatComesTooFast) {
  Tally tally(1s);
  EXPECT_EQ(tally.due(kStart), 0U) << "nothing happened";
  tally.add(1);
  EXPECT_EQ(tally.due(kStart), 1U) << "the first is told of at once";
  tally.add(2);
  tally.add(3);
  EXPECT_EQ(tally.due(kStart + 999ms), 0U);
  EXPECT_EQ(tally.due(kStart + 1s), 5U) << "the rest later, also when nothing more comes";
  EXPECT_EQ(tally.due(kStart + 5s), 0U);
}

TEST(TallyTest, AnHourOfKnockingIsALineASecond) {
  Tally tally(1s);
  std::uint64_t lines = 0, told = 0;
  for (int ms = 0; ms < 60'000; ++ms) {
    tally.add(10);
    const std::uint64_t due = tally.due(kStart + ms * 1ms);
    lines += due != 0 ? 1 : 0;
    told += due;
  }
  EXPECT_EQ(lines, 60U);
  EXPECT_EQ(told, 590'010U);
}

}  // namespace
}  // namespace volvox
