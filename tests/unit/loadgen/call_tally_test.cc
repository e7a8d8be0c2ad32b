#include "loadgen/calls/call_tally.h"

#include <gtest/gtest.h>

namespace volvox {
namespace {

using std::chrono::milliseconds;

TEST(CallTally, LateIsMoreThanTheBound) {
  CallTally tally(milliseconds(20));
  for (int ms : {1, 20, 21, 500}) {
    tally.due();
    tally.sent(milliseconds(0), false);
    tally.answered(milliseconds(ms));
  }
  EXPECT_EQ(tally.late(), 2U);
  EXPECT_EQ(tally.lost(), 0U);
  EXPECT_DOUBLE_EQ(tally.late_fraction(), 0.5);
  EXPECT_EQ(tally.latency().max(), milliseconds(500));
}

TEST(CallTally, WhatIsNeverAnsweredIsLostAndLate) {
  CallTally tally(milliseconds(20));
  EXPECT_DOUBLE_EQ(tally.late_fraction(), 0);
  for (int i = 0; i < 4; ++i) tally.due();
  tally.answered(milliseconds(3));
  EXPECT_EQ(tally.lost(), 3U);
  EXPECT_DOUBLE_EQ(tally.late_fraction(), 0.75);
}

TEST(CallTally, RepeatsAreNoFramesOfTheirOwn) {
  CallTally tally;
  tally.due();
  tally.sent(milliseconds(2), false);
  tally.failed({ErrorCode::kOverloaded, "too many"});
  tally.sent(milliseconds(25), true);
  tally.answered(milliseconds(30));
  EXPECT_EQ(tally.frames(), 1U);
  EXPECT_EQ(tally.sent(), 2U);
  EXPECT_EQ(tally.repeats(), 1U);
  EXPECT_EQ(tally.behind().max(), milliseconds(2)) << "of the first sending";
  EXPECT_EQ(tally.errors().at(ErrorCode::kOverloaded).count, 1U);
}

TEST(CallTally, MergesConnections) {
  CallTally a, b;
  for (CallTally* tally : {&a, &b, &b}) {
    tally->due();
    tally->sent(milliseconds(1), false);
    tally->failed({ErrorCode::kUnavailable, "gone"});
    tally->answered(milliseconds(40));
  }
  a.merge(b);
  EXPECT_EQ(a.frames(), 3U);
  EXPECT_EQ(a.answered(), 3U);
  EXPECT_EQ(a.late(), 3U);
  EXPECT_EQ(a.errors().at(ErrorCode::kUnavailable).count, 3U);
  EXPECT_EQ(a.errors().at(ErrorCode::kUnavailable).first, "gone");
  EXPECT_EQ(a.behind().count(), 3U);
}

}  // namespace
}  // namespace volvox
