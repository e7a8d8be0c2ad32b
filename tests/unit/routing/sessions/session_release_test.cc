// How sessions end, who may begin one, and what is told to whom.

#include <gtest/gtest.h>

#include "tests/unit/routing/sessions/session_desk.h"

namespace volvox::desk {
namespace {

std::uint64_t releases(const Desk& desk, SessionEnd reason) {
  return desk.stats().releases[static_cast<std::size_t>(reason)];
}

TEST(SessionRelease, WhoIsIdleForTooLongExpires) {
  Desk desk;
  desk.make(1);
  desk.now += kSecond;
  desk.make(2);
  EXPECT_EQ(desk.table.next_wakeup(), TimePoint{} + 10 * kSecond);
  EXPECT_EQ(desk.wait(8 * kSecond), "");
  EXPECT_EQ(desk.wait(kSecond), "free 1");
  EXPECT_EQ(desk.send(1, 1, 11), "refuse 11 SESSION_EXPIRED");
  EXPECT_EQ(desk.wait(kSecond), "free 2");
  EXPECT_EQ(releases(desk, SessionEnd::kExpired), 2U);
}

TEST(SessionRelease, WhateverComesPutsTheExpiryOff) {
  Desk desk;
  desk.make(1);
  desk.now += 6 * kSecond;
  desk.send(1, 0, 10);  // a repeat
  desk.now += 6 * kSecond;
  desk.send(1, 2, 12);  // a part that must wait
  EXPECT_EQ(desk.wait(9 * kSecond), "");
  EXPECT_EQ(desk.wait(kSecond), "refuse 12 SESSION_EXPIRED; free 1");
}

TEST(SessionRelease, WhoRunsDoesNotExpire) {
  Desk desk;
  desk.begin(1, 10);
  EXPECT_EQ(desk.table.next_wakeup(), std::nullopt);
  EXPECT_EQ(desk.wait(100 * kSecond), "");
  desk.done(1);
  EXPECT_EQ(desk.wait(9 * kSecond), "");
  EXPECT_EQ(desk.wait(kSecond), "free 1");
}

TEST(SessionRelease, TimeDoesNotGoBack) {
  Desk desk;
  desk.now += 100 * kSecond;
  desk.make(1);
  desk.now -= 50 * kSecond;
  desk.send(1, 0, 11);
  EXPECT_EQ(desk.wait(59 * kSecond), "");
  EXPECT_EQ(desk.wait(kSecond), "free 1");
}

TEST(SessionRelease, RefusesAllThatWaitAndFreesTheSlotsWhenTheDeviceIsDone) {
  Desk desk;
  desk.make(1);
  desk.send(1, 1, 11);
  desk.send(1, 2, 12);
  EXPECT_EQ(desk.release(1, SessionEnd::kLost), "stop 1; refuse 11 SESSION_LOST; refuse 12 SESSION_LOST");
  EXPECT_EQ(desk.stats().ending, 1U);
  EXPECT_EQ(desk.stats().kept_bytes, 0U);
  EXPECT_EQ(desk.release(1, SessionEnd::kLost), "");
  EXPECT_EQ(desk.send(1, 1, 13), "refuse 13 SESSION_LOST");
  EXPECT_EQ(desk.done(1), "free 1");
  EXPECT_EQ(desk.stats().ending, 0U);
  EXPECT_EQ(releases(desk, SessionEnd::kLost), 1U);
}

TEST(SessionRelease, WaitsForACopyThatIsUnderWay) {
  Desk desk;
  desk.make(1);
  desk.make(2);
  desk.begin(3, 30);
  EXPECT_EQ(desk.release(1, SessionEnd::kExpired), "");
  EXPECT_EQ(desk.spilled(1), "free 1; forget 1; run 30:0 ->0");
  desk.done(3);
  desk.begin(4, 40);
  EXPECT_EQ(desk.release(2, SessionEnd::kExpired), "");
  EXPECT_EQ(desk.spilled(2, false), "free 2; run 40:0 ->2");
}

TEST(SessionRelease, WaitsForARestoreThatIsUnderWay) {
  Desk desk;
  desk.bring_back();
  EXPECT_EQ(desk.release(1, SessionEnd::kEvicted), "refuse 11 SESSION_LOST");
  EXPECT_EQ(desk.restored(1), "free 1");
}

TEST(SessionRelease, EveryReasonHasItsCode) {
  const std::pair<SessionEnd, std::string> reasons[] = {{SessionEnd::kEnded, "SESSION_EXPIRED"},
                                                        {SessionEnd::kExpired, "SESSION_EXPIRED"},
                                                        {SessionEnd::kLost, "SESSION_LOST"},
                                                        {SessionEnd::kEvicted, "SESSION_LOST"},
                                                        {SessionEnd::kDraining, "SESSION_EXPIRED"}};
  for (const auto& [reason, code] : reasons) {
    Desk desk;
    desk.make(1);
    desk.send(1, 2, 12);
    EXPECT_EQ(desk.release(1, reason), "refuse 12 " + code + "; free 1");
    EXPECT_EQ(desk.send(1, 1, 13), "refuse 13 " + code);
    EXPECT_EQ(desk.end(1, 0, 14), "refuse 14 " + code) << "nothing is kept but a last part";
    EXPECT_EQ(releases(desk, reason), 1U) << to_string(reason);
  }
}

TEST(SessionRelease, SlotsGoToWhoWaitsForThem) {
  Desk desk;
  desk.begin(1, 10);
  desk.begin(2, 20);
  desk.begin(3, 30);
  desk.release(1, SessionEnd::kLost);
  EXPECT_EQ(desk.failed(1), "free 1; run 30:0 ->0");
}

TEST(SessionRelease, TheTableHoldsNoMoreThanConfigured) {
  Desk desk;
  for (std::uint64_t id = 1; id <= 4; ++id) desk.begin(id, id);
  EXPECT_EQ(desk.begin(5, 50), "refuse 50 OVERLOADED");
  desk.release(1, SessionEnd::kLost);
  EXPECT_EQ(desk.begin(5, 51), "refuse 51 OVERLOADED") << "the device still works on it";
  desk.done(1);
  desk.begin(5, 52);
  EXPECT_EQ(desk.stats().live, 4U);
}

TEST(SessionRelease, AFullTableMayGiveUpWhoWasIdleForLong) {
  SessionLimits limits = small_limits();
  limits.evict_idle = 3 * kSecond;
  limits.max_sessions = 2;
  Desk desk(limits);
  desk.make(1);
  desk.make(2);
  EXPECT_EQ(desk.begin(3, 30), "refuse 30 OVERLOADED");
  desk.now += 3 * kSecond;
  EXPECT_EQ(desk.begin(3, 31), "free 1; run 31:0 ->0");
  EXPECT_EQ(desk.send(1, 1, 11), "refuse 11 SESSION_LOST");
  EXPECT_EQ(releases(desk, SessionEnd::kEvicted), 1U);
}

TEST(SessionRelease, RemembersOnlySoMany) {
  Desk desk;
  for (std::uint64_t id = 1; id <= 4; ++id) {
    desk.make(id);
    desk.release(id, SessionEnd::kExpired);
  }
  EXPECT_EQ(desk.stats().remembered, 3U);
  EXPECT_EQ(desk.send(1, 1, 11), "refuse 11 SESSION_LOST") << "forgotten";
  EXPECT_EQ(desk.send(2, 1, 12), "refuse 12 SESSION_EXPIRED");
}

TEST(SessionRelease, MayRememberNothing) {
  SessionLimits limits = small_limits();
  limits.max_remembered = 0;
  Desk desk(limits);
  desk.make(1);
  desk.end(1, 1, 11);
  EXPECT_EQ(desk.done(1), "answer 11:1!; free 1");
  EXPECT_EQ(desk.stats().kept_outputs, 0U);
  EXPECT_EQ(desk.end(1, 1, 12), "refuse 12 SESSION_LOST");
}

TEST(SessionRelease, ALateRepeatOfTheBeginDoesNotBeginAnew) {
  Desk desk;
  desk.begin(1, 10, 5);
  desk.done(1);
  desk.release(1, SessionEnd::kExpired);
  EXPECT_EQ(desk.begin(2, 11, 5), "refuse 11 SESSION_EXPIRED");
  desk.wait(5 * kSecond);
  EXPECT_EQ(desk.begin(2, 12, 5), "run 12:0 ->0");
}

TEST(SessionRelease, ABeginThatFailsLeavesNoSession) {
  Desk desk;
  for (const std::uint64_t nonce : {0, 5}) {
    desk.begin(1, 10, nonce);
    EXPECT_EQ(desk.failed(1), "refuse 10 INTERNAL; free 1");
    desk.begin(2, 20, nonce);
    EXPECT_EQ(desk.cancel(20), "refuse 20 CANCELLED; stop 2");
    EXPECT_EQ(desk.done(2), "free 2");
    EXPECT_EQ(desk.stats().live, 0U);
    EXPECT_EQ(desk.stats().resident, 0U);
    EXPECT_EQ(desk.stats().remembered, 0U) << "nobody knows its id";
  }
  EXPECT_EQ(releases(desk, SessionEnd::kEnded), 4U);
}

TEST(SessionRelease, DrainingEndsWhatIsIdleAndLetsTheRestEnd) {
  Desk desk;
  desk.make(1);
  desk.begin(2, 20);
  desk.send(2, 2, 22);
  EXPECT_EQ(desk.drain(), "free 1");
  EXPECT_EQ(desk.send(1, 1, 11), "refuse 11 SESSION_EXPIRED");
  EXPECT_EQ(desk.send(2, 1, 21), "") << "it has not ended yet";
  EXPECT_EQ(desk.begin(3, 30), "refuse 30 UNAVAILABLE");
  EXPECT_EQ(desk.done(2), "answer 20:0; run 21:1 2>3");
  EXPECT_EQ(desk.done(2), "answer 21:1; run 22:2 3>2");
  EXPECT_EQ(desk.done(2), "answer 22:2; free 2");
  EXPECT_EQ(desk.send(2, 3, 23), "refuse 23 SESSION_EXPIRED");
  EXPECT_EQ(releases(desk, SessionEnd::kDraining), 2U);
  EXPECT_EQ(desk.stats().live, 0U);
}

TEST(SessionRelease, ManyAtOnce) {
  Desk desk;
  SessionActions out;
  for (std::uint64_t id = 1; id <= 3; ++id) desk.make(id);
  desk.spilled(1);
  desk.done(3);
  desk.table.release_resident([](StateSlot slot) { return slot / 2 == 1; }, SessionEnd::kLost, desk.now, out);
  EXPECT_EQ(text(out), "free 2");
  out.clear();
  desk.table.release_resident([](StateSlot) { return true; }, SessionEnd::kLost, desk.now, out);
  EXPECT_EQ(text(out), "free 3");
  out.clear();
  desk.table.release_model({1, 9, 3, 4}, SessionEnd::kLost, desk.now, out);
  EXPECT_EQ(text(out), "");
  EXPECT_EQ(desk.stats().live, 1U);
  desk.table.release_model(kModel, SessionEnd::kLost, desk.now, out);
  EXPECT_EQ(text(out), "forget 1");
  EXPECT_EQ(desk.stats().live, 0U);
  desk.make(4);
  out.clear();
  desk.table.release_all(SessionEnd::kDraining, desk.now, out);
  EXPECT_EQ(text(out), "free 4");
  EXPECT_EQ(desk.stats().live, 0U);
}

}  // namespace
}  // namespace volvox::desk
