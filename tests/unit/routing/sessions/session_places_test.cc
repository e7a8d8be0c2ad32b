// Who has slots on the device: spills, restores, and who waits for whom.

#include <gtest/gtest.h>

#include "tests/unit/routing/sessions/session_desk.h"

namespace volvox::desk {
namespace {

TEST(SessionPlaces, TheLeastRecentlyUsedIdleSessionMakesRoom) {
  Desk desk;
  desk.make(1);
  desk.make(2);
  desk.send(1, 1, 11);
  desk.done(1);
  EXPECT_EQ(desk.begin(3, 30), "spill 2 2");
  EXPECT_EQ(desk.stats().in_line, 1U);
  EXPECT_EQ(desk.stats().copying, 1U);
  EXPECT_EQ(desk.spilled(2), "free 2; run 30:0 ->2");
  EXPECT_EQ(desk.stats().spilled, 1U);
  EXPECT_EQ(desk.stats().resident, 2U);
}

TEST(SessionPlaces, WhenPartOfTheDeviceIsGoneFewerGetSlots) {
  Desk desk;
  desk.make(1);
  desk.make(2);
  SessionActions out;
  desk.table.allow_resident(1, desk.now, out);
  EXPECT_EQ(text(out), "") << "who has slots keeps them";
  EXPECT_EQ(desk.begin(3, 30), "spill 1 0");
  EXPECT_EQ(desk.spilled(1), "free 1; spill 2 2") << "two must go for one to come";
  EXPECT_EQ(desk.spilled(2), "free 2; run 30:0 ->2");
  EXPECT_EQ(desk.begin(4, 40), "");
  desk.table.allow_resident(5, desk.now, out);
  EXPECT_EQ(text(out), "run 40:0 ->0") << "no more than there ever were";
}

TEST(SessionPlaces, WhoIsOnAPartThatTakesNoWorkIsLeftThere) {
  Desk desk;
  desk.make(1);
  desk.make(2);
  SessionActions out;
  desk.table.allow_resident(1, desk.now, out);
  desk.table.set_aside([](StateSlot slot) { return slot / 2 == 0; }, desk.now, out);
  EXPECT_EQ(text(out), "");
  EXPECT_EQ(desk.begin(3, 30), "spill 2 2");
  EXPECT_EQ(desk.spilled(2), "free 2; run 30:0 ->2");
  EXPECT_EQ(desk.begin(4, 40), "");
  EXPECT_EQ(desk.send(1, 1, 11), "run 11:1 0>1") << "its slots would be of no use to 4";
  EXPECT_EQ(desk.done(3), "answer 30:0; spill 3 2");
  EXPECT_EQ(desk.spilled(3), "free 3; run 40:0 ->2");
}

TEST(SessionPlaces, ASpillThatHangsHoldsUpNobodyInLine) {
  Desk desk;
  desk.make(1);
  desk.make(2);
  EXPECT_EQ(desk.begin(3, 30), "spill 1 0");
  EXPECT_EQ(desk.release(1, SessionEnd::kLost), "") << "its slots may still be read";
  SessionActions out;
  desk.table.allow_resident(1, desk.now, out);
  EXPECT_EQ(text(out), "");
  desk.table.set_aside([](StateSlot slot) { return slot / 2 == 0; }, desk.now, out);
  EXPECT_EQ(text(out), "spill 2 2");
  EXPECT_EQ(desk.spilled(2), "free 2; run 30:0 ->2");
  EXPECT_EQ(desk.spilled(1), "free 1; forget 1") << "it has ended after all";
}

TEST(SessionPlaces, ASpillThatFailsOfSlotsThatAreOfNoUseRefusesNobody) {
  Desk desk;
  desk.make(1);
  desk.make(2);
  desk.begin(3, 30);
  SessionActions out;
  desk.table.allow_resident(1, desk.now, out);
  desk.table.set_aside([](StateSlot slot) { return slot / 2 == 0; }, desk.now, out);
  EXPECT_EQ(text(out), "spill 2 2");
  EXPECT_EQ(desk.spilled(1, false), "");
  EXPECT_EQ(desk.spilled(2), "free 2; run 30:0 ->2");
}

TEST(SessionPlaces, ARepeatCountsAsUse) {
  Desk desk;
  desk.make(1);
  desk.make(2);
  desk.send(1, 0, 11);
  EXPECT_EQ(desk.begin(3, 30), "spill 2 2");
}

TEST(SessionPlaces, TheStateReturnsBeforeTheNextPart) {
  Desk desk;
  desk.make(1, 2);
  desk.make(2);
  EXPECT_EQ(desk.begin(3, 30), "spill 1 1");
  desk.spilled(1);
  desk.done(3);
  EXPECT_EQ(desk.send(1, 2, 12), "spill 2 2");
  EXPECT_EQ(desk.spilled(2), "free 2; restore 1 2");
  EXPECT_EQ(desk.send(1, 3, 13), "");
  EXPECT_EQ(desk.restored(1), "run 12:2 2>3");
  EXPECT_EQ(desk.done(1), "answer 12:2; run 13:3 3>2");
  EXPECT_EQ(desk.stats().restores, 1U);
  EXPECT_EQ(desk.stats().spilled, 1U);
}

TEST(SessionPlaces, WhenAllRunTheNextOneToBecomeIdleMakesRoom) {
  Desk desk;
  desk.begin(1, 10);
  desk.begin(2, 20);
  EXPECT_EQ(desk.begin(3, 30), "");
  EXPECT_EQ(desk.done(1), "answer 10:0; spill 1 0");
  EXPECT_EQ(desk.done(2), "answer 20:0") << "one spill is enough for one in line";
  EXPECT_EQ(desk.spilled(1), "free 1; run 30:0 ->0");
}

TEST(SessionPlaces, ABusySessionGivesWayBetweenTwoParts) {
  Desk desk;
  desk.begin(1, 10);
  desk.begin(2, 20);
  desk.begin(3, 30);
  desk.send(1, 1, 11);
  EXPECT_EQ(desk.done(1), "answer 10:0; spill 1 0");
  EXPECT_EQ(desk.spilled(1), "free 1; run 30:0 ->0");
  EXPECT_EQ(desk.stats().in_line, 1U);
  EXPECT_EQ(desk.done(3), "answer 30:0; spill 3 0");
  EXPECT_EQ(desk.spilled(3), "free 3; restore 1 0");
  EXPECT_EQ(desk.restored(1), "run 11:1 0>1");
}

TEST(SessionPlaces, AStateThatReturnedRunsBeforeItGivesWay) {
  SessionLimits limits = small_limits();
  limits.max_resident = 1;
  Desk desk(limits);
  desk.make(1);
  desk.begin(2, 20);
  desk.spilled(1);
  desk.done(2);
  EXPECT_EQ(desk.send(1, 1, 11), "spill 2 0");
  EXPECT_EQ(desk.begin(3, 30), "");
  EXPECT_EQ(desk.spilled(2), "free 2; restore 1 0");
  EXPECT_EQ(desk.restored(1), "run 11:1 0>1");
  EXPECT_EQ(desk.done(1), "answer 11:1; spill 1 1");
}

TEST(SessionPlaces, ASessionWithoutAStateGivesWayWithoutACopy) {
  Desk desk;
  desk.begin(1, 10);
  desk.begin(2, 20);
  desk.begin(3, 30);
  desk.cancel(10);
  desk.send(1, 0, 11);
  EXPECT_EQ(desk.done(1), "free 1; run 30:0 ->0") << "part 0 of session 1 waits in line";
  EXPECT_EQ(desk.failed(2), "refuse 20 INTERNAL; free 2; run 11:0 ->2");
}

TEST(SessionPlaces, WhoNeverCommittedHoldsNoSlotsWhileIdle) {
  Desk desk;
  desk.begin(1, 10, 5);
  desk.send(1, 1, 11);
  EXPECT_EQ(desk.failed(1), "refuse 10 INTERNAL; free 1");
  EXPECT_EQ(desk.stats().resident, 0U);
  EXPECT_EQ(desk.stats().live, 1U) << "another part waits for the first";
}

TEST(SessionPlaces, APartThatComesDuringTheSpillWaitsForTheReturn) {
  Desk desk;
  desk.make(1);
  desk.make(2);
  desk.begin(3, 30);
  EXPECT_EQ(desk.send(1, 1, 11), "");
  EXPECT_EQ(desk.spilled(1), "free 1; run 30:0 ->0; spill 2 2");
  EXPECT_EQ(desk.spilled(2), "free 2; restore 1 2");
  EXPECT_EQ(desk.restored(1), "run 11:1 2>3");
}

TEST(SessionPlaces, ASpillThatFailsKeepsItsSessionAndRefusesOneInLine) {
  Desk desk;
  desk.make(1);
  desk.make(2);
  desk.begin(3, 30, 5);
  desk.send(1, 1, 11);
  EXPECT_EQ(desk.spilled(1, false), "refuse 30 OVERLOADED; run 11:1 0>1");
  EXPECT_EQ(desk.stats().failed_spills, 1U);
  EXPECT_EQ(desk.stats().in_line, 0U);
  EXPECT_EQ(desk.stats().live, 2U) << "a session that could not begin is none";
}

TEST(SessionPlaces, ASessionWhoseSpillFailedIsTriedLast) {
  Desk desk;
  desk.make(1);
  desk.make(2);
  desk.begin(3, 30);
  EXPECT_EQ(desk.spilled(1, false), "refuse 30 OVERLOADED");
  EXPECT_EQ(desk.begin(4, 40), "spill 2 2");
}

TEST(SessionPlaces, AStateThatDoesNotReturnIsLost) {
  Desk desk;
  desk.bring_back();
  EXPECT_EQ(desk.restored(1, false), "refuse 11 SESSION_LOST; free 1");
  EXPECT_EQ(desk.stats().releases[static_cast<std::size_t>(SessionEnd::kLost)], 1U);
  EXPECT_EQ(desk.send(1, 1, 12), "refuse 12 SESSION_LOST");
}

TEST(SessionPlaces, AStateForWhichTheDeviceHasNoRoomStaysOnTheHost) {
  Desk desk;
  desk.bring_back();
  EXPECT_EQ(desk.not_restored(1), "free 1; refuse 11 OVERLOADED");
  EXPECT_EQ(desk.stats().spilled, 2U);
  EXPECT_EQ(desk.stats().copying, 0U);
  EXPECT_EQ(desk.stats().live, 3U);
  EXPECT_EQ(desk.send(1, 1, 12), "restore 1 2") << "the part is repeated, and there is room";
  EXPECT_EQ(desk.restored(1), "run 12:1 2>3");
}

TEST(SessionPlaces, WhoEndsWhileItsStateFindsNoRoomIsForgotten) {
  Desk desk;
  desk.bring_back();
  EXPECT_EQ(desk.release(1, SessionEnd::kLost), "refuse 11 SESSION_LOST");
  EXPECT_EQ(desk.not_restored(1), "free 1; forget 1");
  EXPECT_EQ(desk.stats().spilled, 1U);
  EXPECT_EQ(desk.not_restored(1), "") << "nothing is under way";
}

TEST(SessionPlaces, WhoIsCancelledLeavesTheLine) {
  Desk desk;
  desk.begin(1, 10);
  desk.begin(2, 20);
  desk.begin(3, 30);
  EXPECT_EQ(desk.cancel(30), "refuse 30 CANCELLED");
  EXPECT_EQ(desk.stats().in_line, 0U);
  EXPECT_EQ(desk.done(1), "answer 10:0");
}

TEST(SessionPlaces, AStateThatReturnedForNobodyIsIdle) {
  Desk desk;
  desk.bring_back();
  EXPECT_EQ(desk.cancel(11), "refuse 11 CANCELLED");
  EXPECT_EQ(desk.restored(1), "");
  EXPECT_EQ(desk.send(1, 1, 12), "run 12:1 2>3");
}

TEST(SessionPlaces, AnEmptyEndNeedsNoSlots) {
  Desk desk;
  desk.make(1);
  desk.make(2);
  desk.begin(3, 30);
  desk.spilled(1);
  EXPECT_EQ(desk.end(1, 1, 11, true), "answer 11:1!; forget 1");
}

}  // namespace
}  // namespace volvox::desk
