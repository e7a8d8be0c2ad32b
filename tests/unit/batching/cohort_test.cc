#include "batching/lanes/cohort.h"

#include <vector>

#include <gtest/gtest.h>

namespace volvox {
namespace {

TEST(Cohort, TellsWhatIsDueAndKeepsTheMemoryForIt) {
  constexpr LaneRef kLane = 7;
  Cohort noting, quiet;
  std::vector<LaneRef> due(1);  // of both, as a worker's cohorts have one
  const LaneRef* const own = due.data();
  for (int task = 0; task < 1000; ++task) {
    EXPECT_EQ(noting.note(kLane, noting.step()), noting.step());
    noting.take_due(noting.step(), due);
    ASSERT_EQ(due, std::vector{kLane});
    ASSERT_EQ(due.data(), own) << "memory goes from one cohort to the other";
    noting.advance();
    quiet.take_due(quiet.step(), due);
    ASSERT_TRUE(due.empty());
    quiet.advance();
  }
}

TEST(Cohort, LooksEarlyAtLanesFarAhead) {
  Cohort cohort;
  std::vector<LaneRef> due;
  const std::uint64_t first = cohort.step(), at = cohort.note(3, first + 100'000);
  EXPECT_LT(at, first + 100'000);
  for (; cohort.step() < at; cohort.advance()) {
    cohort.take_due(cohort.step(), due);
    ASSERT_TRUE(due.empty());
  }
  cohort.take_due(at, due);
  EXPECT_EQ(due, std::vector<LaneRef>{3});
}

}  // namespace
}  // namespace volvox
