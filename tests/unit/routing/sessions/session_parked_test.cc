// Parts sent ahead of one that is missing: how many may wait, and for how long.

#include <gtest/gtest.h>

#include "routing/sessions/parked_parts.h"
#include "tests/unit/routing/sessions/session_desk.h"

namespace volvox::desk {
namespace {

SessionLimits limits(std::uint32_t parts, std::uint32_t per_client = 100) {
  SessionLimits limits = small_limits();
  limits.max_sessions = limits.max_resident = 8;
  limits.park = 2 * kSecond;
  limits.parked = {parts, per_client, 1000};
  return limits;
}

TEST(ParkedParts, AreBoundedInAllAndPerClientAndInBytes) {
  ParkedParts parked({.parts = 3, .parts_per_client = 2, .bytes = 100});
  EXPECT_FALSE(parked.fits(1, {101}));
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(parked.fits(1, {30}));
    parked.park(1, {30});
  }
  EXPECT_FALSE(parked.fits(1, {30})) << "one client has two";
  EXPECT_TRUE(parked.fits(2, {40}));
  EXPECT_FALSE(parked.fits(2, {41})) << "the bytes of all";
  parked.park(2, {1});
  EXPECT_FALSE(parked.fits(3, {1})) << "three in all";
  parked.leave(1, {30});
  EXPECT_TRUE(parked.fits(1, {30}));
  EXPECT_EQ(parked.parts(), 2U);
  EXPECT_EQ(parked.bytes(), 31U);
}

TEST(ParkedParts, KeepAWholeBundleTogether) {
  ParkedParts parked({.parts = 9, .parts_per_client = 9, .bytes = 100});
  const PartMemory one{5, 7, 60}, other{5, 8, 60};
  EXPECT_TRUE(parked.fits(1, one));
  parked.park(1, one);
  EXPECT_EQ(parked.bytes(), 65U);
  EXPECT_TRUE(parked.fits(2, one)) << "the bundle is there already";
  EXPECT_FALSE(parked.fits(2, other));
  parked.park(2, one);
  EXPECT_EQ(parked.bytes(), 70U);
  parked.leave(1, one);
  EXPECT_EQ(parked.bytes(), 65U) << "the other part keeps it";
  parked.leave(2, one);
  EXPECT_EQ(parked.bytes(), 0U);
  EXPECT_TRUE(parked.fits(2, other));
}

TEST(ParkedParts, WhoCannotBeToldFromOthersHasNoShareOfHisOwn) {
  ParkedParts parked({.parts = 3, .parts_per_client = 1, .bytes = 100});
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(parked.fits(ParkedParts::kNobody, {1}));
    parked.park(ParkedParts::kNobody, {1});
  }
  EXPECT_FALSE(parked.fits(ParkedParts::kNobody, {1}));
}

TEST(SessionParked, PartsAheadOfAMissingOneAreBounded) {
  Desk desk(limits(3));
  for (std::uint64_t id = 1; id <= 3; ++id) desk.make(id);
  EXPECT_EQ(desk.send(1, 2, 12), "");
  EXPECT_EQ(desk.send(1, 3, 13), "");
  EXPECT_EQ(desk.send(2, 2, 22), "");
  EXPECT_EQ(desk.stats().parked, 3U);
  EXPECT_EQ(desk.send(3, 2, 32), "refuse 32 OVERLOADED");
  EXPECT_NE(desk.last_error().message.find("send part 1 first"), std::string::npos)
      << desk.last_error().message;
  EXPECT_EQ(desk.send(3, 1, 31), "run 31:1 4>5") << "what can run is not parked";
  EXPECT_EQ(desk.send(3, 2, 33), "") << "nor is what comes behind it";
  EXPECT_EQ(desk.stats().parked, 3U);
  EXPECT_EQ(desk.cancel(13), "refuse 13 CANCELLED");
  EXPECT_EQ(desk.stats().parked, 2U);
}

TEST(SessionParked, APartIsNotParkedAnyMoreWhenTheMissingOneComes) {
  Desk desk(limits(2));
  desk.make(1);
  desk.send(1, 2, 12);
  desk.send(1, 3, 13);
  EXPECT_EQ(desk.stats().parked, 2U);
  EXPECT_EQ(desk.send(1, 1, 11), "run 11:1 0>1");
  EXPECT_EQ(desk.stats().parked, 0U);
  EXPECT_EQ(desk.stats().parked_bytes, 0U);
  desk.done(1);
  EXPECT_EQ(desk.wait(5 * kSecond), "") << "it runs: that may take its time";
  EXPECT_EQ(desk.done(1), "answer 12:2; run 13:3 0>1");
}

// However often it is repeated.
TEST(SessionParked, WhatWaitsForAMissingPartIsToldSo) {
  Desk desk(limits(10));
  desk.make(1);
  desk.make(2);
  EXPECT_EQ(desk.send(1, 2, 12), "");
  EXPECT_EQ(desk.wait(kSecond), "");
  EXPECT_EQ(desk.send(1, 2, 13), "") << "a repeat";
  EXPECT_EQ(desk.send(2, 2, 22), "");
  EXPECT_EQ(desk.table.next_wakeup(), desk.now + kSecond);
  EXPECT_EQ(desk.wait(kSecond), "refuse 12 UNAVAILABLE; refuse 13 UNAVAILABLE");
  EXPECT_NE(desk.last_error().message.find("part 1 has not come"), std::string::npos);
  EXPECT_EQ(desk.stats().parked, 1U);
  EXPECT_EQ(desk.stats().parked_too_long, 2U);
  EXPECT_EQ(desk.send(1, 1, 11), "run 11:1 0>1") << "the session is as it was";
  EXPECT_EQ(desk.wait(kSecond), "refuse 22 UNAVAILABLE");
}

// The first part failed, so that nobody knows the session, and what waited behind it is refused: it goes.
TEST(SessionParked, ASessionThatNobodyKnowsGoesWithItsParts) {
  Desk desk(limits(10));
  desk.begin(1, 10);
  desk.send(1, 1, 11);
  desk.failed(1);
  EXPECT_EQ(desk.stats().parked, 1U);
  desk.wait(2 * kSecond);
  EXPECT_EQ(desk.stats().parked, 0U);
  EXPECT_EQ(desk.stats().live, 0U);
}

// Behind a part that ran there may be more than may be parked: they are refused when it is done.
TEST(SessionParked, WhatIsBehindAGapIsBoundedWhenTheOneBeforeItIsDone) {
  Desk desk(limits(1));
  desk.make(1);
  desk.make(2);
  desk.send(2, 2, 22);
  EXPECT_EQ(desk.send(1, 1, 11), "run 11:1 0>1");
  EXPECT_EQ(desk.send(1, 3, 13), "");
  EXPECT_EQ(desk.done(1), "answer 11:1; refuse 13 OVERLOADED");
  EXPECT_EQ(desk.stats().parked, 1U);
  desk.release(2, SessionEnd::kLost);
  EXPECT_EQ(desk.stats().parked, 0U);
}

}  // namespace
}  // namespace volvox::desk
