// Begin, continue, end: the order of parts, what is repeated, what fails.

#include <gtest/gtest.h>

#include "tests/unit/routing/sessions/session_desk.h"

namespace volvox::desk {
namespace {

TEST(SessionParts, RunOneAfterTheOtherAndSwapTheirSlots) {
  Desk desk;
  EXPECT_EQ(desk.begin(1, 10), "run 10:0 ->0");
  EXPECT_EQ(desk.done(1), "answer 10:0");
  EXPECT_EQ(desk.send(1, 1, 11), "run 11:1 0>1");
  EXPECT_EQ(desk.done(1), "answer 11:1");
  EXPECT_EQ(desk.send(1, 2, 12), "run 12:2 1>0");
  EXPECT_EQ(desk.done(1), "answer 12:2");
  EXPECT_EQ(desk.end(1, 3, 13), "run 13:3 0>1");
  EXPECT_EQ(desk.done(1), "answer 13:3!; free 1");
  EXPECT_EQ(desk.stats().committed, 4U);
  EXPECT_EQ(desk.stats().live, 0U);
}

TEST(SessionParts, AnAnswerCarriesWhatATokenNeeds) {
  Desk desk;
  desk.begin(1, 10);
  desk.done(1);
  const SessionAction& answer = desk.last().front();
  EXPECT_EQ(answer.id, (SessionId{0, 1}));
  EXPECT_EQ(answer.epoch, 7U);
  EXPECT_EQ(*std::static_pointer_cast<const std::uint64_t>(answer.output), 1U);
}

TEST(SessionParts, OnlyOneRunsAndTheOthersWaitForTheirTurn) {
  Desk desk;
  desk.make(1);
  EXPECT_EQ(desk.send(1, 1, 11), "run 11:1 0>1");
  EXPECT_EQ(desk.send(1, 3, 13), "");
  EXPECT_EQ(desk.send(1, 2, 12), "");
  EXPECT_EQ(desk.stats().waiting, 2U);
  EXPECT_EQ(desk.done(1), "answer 11:1; run 12:2 1>0");
  EXPECT_EQ(desk.done(1), "answer 12:2; run 13:3 0>1");
  EXPECT_EQ(desk.done(1), "answer 13:3");
  EXPECT_EQ(desk.stats().waiting, 0U);
}

TEST(SessionParts, AGapWaitsForThePartThatIsMissing) {
  Desk desk;
  desk.make(1);
  EXPECT_EQ(desk.send(1, 2, 12), "");
  EXPECT_EQ(desk.send(1, 1, 11), "run 11:1 0>1");
  EXPECT_EQ(desk.done(1), "answer 11:1; run 12:2 1>0");
}

TEST(SessionParts, TooFarAheadIsRefused) {
  Desk desk;
  desk.make(1);
  EXPECT_EQ(desk.send(1, 4, 14), "refuse 14 OVERLOADED");
  EXPECT_NE(desk.last_error().message.find("part 1 comes next"), std::string::npos);
  EXPECT_EQ(desk.send(1, ~std::uint64_t{0}, 15), "refuse 15 OVERLOADED");
  EXPECT_EQ(desk.send(1, 3, 13), "");
}

TEST(SessionParts, NoMoreWaitThanConfiguredButTheMissingPartFindsRoom) {
  Desk desk;
  desk.make(1);
  EXPECT_EQ(desk.send(1, 2, 12), "");
  EXPECT_EQ(desk.send(1, 3, 13), "");
  EXPECT_EQ(desk.send(1, 3, 14), "refuse 14 OVERLOADED");
  EXPECT_EQ(desk.send(1, 1, 11), "run 11:1 0>1");
  EXPECT_EQ(desk.send(1, 1, 15), "refuse 15 OVERLOADED");
  EXPECT_EQ(desk.stats().waiting, 2U);
}

TEST(SessionParts, ARepeatOfWhatRunsIsAnsweredWithIt) {
  Desk desk;
  desk.make(1);
  EXPECT_EQ(desk.send(1, 1, 11), "run 11:1 0>1");
  EXPECT_EQ(desk.send(1, 1, 12), "");
  EXPECT_EQ(desk.done(1), "answer 11:1; answer 12:1*");
  EXPECT_EQ(desk.stats().committed, 2U);
}

TEST(SessionParts, ARepeatOfWhatIsCommittedIsAnsweredFromWhatIsKept) {
  Desk desk;
  desk.make(1, 2);
  EXPECT_EQ(desk.send(1, 1, 12), "answer 12:1*");
  EXPECT_NE(desk.last().front().output, nullptr);
  EXPECT_EQ(desk.send(1, 1, 13), "answer 13:1*");
  EXPECT_EQ(desk.stats().repeated, 2U);
}

TEST(SessionParts, ContinuingAcknowledgesEverythingBefore) {
  Desk desk;
  desk.make(1);
  EXPECT_EQ(desk.stats().kept_outputs, 1U);
  desk.send(1, 1, 11);
  EXPECT_EQ(desk.stats().kept_outputs, 0U);
  EXPECT_EQ(desk.send(1, 0, 12), "refuse 12 INVALID_ARGUMENT");
  EXPECT_NE(desk.last_error().message.find("continue with part 1"), std::string::npos);
  desk.done(1);
  EXPECT_EQ(desk.stats().kept_outputs, 1U);
  EXPECT_EQ(desk.stats().kept_bytes, 10U);
}

TEST(SessionParts, OutputsOfPartsSentAheadStayUntilTheNextContinue) {
  Desk desk;
  desk.make(1);
  desk.send(1, 1, 11);
  desk.send(1, 2, 12);
  desk.done(1);
  desk.done(1);
  EXPECT_EQ(desk.send(1, 1, 13), "answer 13:1*");
  EXPECT_EQ(desk.send(1, 2, 14), "answer 14:2*");
  EXPECT_EQ(desk.send(1, 1, 15), "refuse 15 INVALID_ARGUMENT");
}

TEST(SessionParts, ARefusedContinueAcknowledgesNothing) {
  Desk desk;
  desk.make(1);
  desk.send(1, 4, 14);
  EXPECT_EQ(desk.send(1, 0, 10), "answer 10:0*");
}

TEST(SessionParts, AFailedPartLeavesTheStateAndMayBeSentAgain) {
  Desk desk;
  desk.make(1);
  desk.send(1, 1, 11);
  desk.send(1, 2, 12);
  desk.send(1, 1, 13);
  EXPECT_EQ(desk.failed(1), "refuse 11 INTERNAL; refuse 13 INTERNAL");
  EXPECT_EQ(desk.send(1, 1, 14), "run 14:1 0>1");
  EXPECT_EQ(desk.done(1), "answer 14:1; run 12:2 1>0");
  EXPECT_EQ(desk.stats().failed, 1U);
}

TEST(SessionParts, AFirstPartThatFailsMayBeSentAgain) {
  Desk desk;
  desk.begin(1, 10, 5);
  EXPECT_EQ(desk.failed(1), "refuse 10 INTERNAL; free 1");
  EXPECT_EQ(desk.begin(2, 11, 5), "run 11:0 ->0");
  EXPECT_EQ(desk.done(2), "answer 11:0");
}

TEST(SessionParts, AFirstPartThatIsBeingStoppedMayBeSentAgain) {
  Desk desk;
  desk.begin(1, 10, 5);
  EXPECT_EQ(desk.cancel(10), "refuse 10 CANCELLED; stop 1");
  EXPECT_EQ(desk.begin(2, 11, 5), "") << "it finds the session, whose device is busy still";
  EXPECT_EQ(desk.done(1), "run 11:0 ->0");
  EXPECT_EQ(desk.done(1), "answer 11:0");
}

TEST(SessionParts, ACancelledPartIsStoppedAndDoesNotCount) {
  Desk desk;
  desk.make(1);
  desk.send(1, 1, 11);
  EXPECT_EQ(desk.cancel(11), "refuse 11 CANCELLED; stop 1");
  EXPECT_EQ(desk.cancel(11), "");
  EXPECT_EQ(desk.send(1, 1, 12), "") << "the slots are still in use";
  EXPECT_EQ(desk.done(1), "run 12:1 0>1") << "though it succeeded, its request was told that it did not";
  EXPECT_EQ(desk.done(1), "answer 12:1");
  EXPECT_EQ(desk.stats().committed, 2U);
}

TEST(SessionParts, AllAskersMayBeRefusedWhileAPartRuns) {
  Desk desk;
  desk.make(1);
  desk.send(1, 1, 11);
  desk.send(1, 1, 12);
  desk.send(1, 2, 13);
  EXPECT_EQ(desk.refuse_all(1),
            "stop 1; refuse 11 UNAVAILABLE; refuse 12 UNAVAILABLE; refuse 13 UNAVAILABLE");
  EXPECT_EQ(desk.refuse_all(1), "");
  EXPECT_EQ(desk.send(1, 1, 14), "") << "the slots are still in use";
  EXPECT_EQ(desk.done(1), "run 14:1 0>1") << "the session goes on where it was";
  EXPECT_EQ(desk.done(1), "answer 14:1");
}

TEST(SessionParts, APartThatARepeatWaitsForGoesOn) {
  Desk desk;
  desk.make(1);
  desk.send(1, 1, 11);
  desk.send(1, 1, 12);
  EXPECT_EQ(desk.cancel(11), "refuse 11 CANCELLED");
  EXPECT_EQ(desk.done(1), "answer 12:1");
}

TEST(SessionParts, AWaitingPartThatIsCancelledNeverRuns) {
  Desk desk;
  desk.make(1);
  desk.send(1, 1, 11);
  desk.send(1, 2, 12);
  EXPECT_EQ(desk.cancel(12), "refuse 12 CANCELLED");
  EXPECT_EQ(desk.done(1), "answer 11:1");
  EXPECT_EQ(desk.cancel(11), "") << "it is answered";
  EXPECT_EQ(desk.stats().waiting, 0U);
}

TEST(SessionParts, ARepeatedBeginFindsItsSession) {
  Desk desk;
  EXPECT_EQ(desk.begin(1, 10, 5), "run 10:0 ->0");
  EXPECT_EQ(desk.begin(2, 11, 5), "");
  EXPECT_EQ(desk.done(1), "answer 10:0; answer 11:0*");
  EXPECT_EQ(desk.begin(3, 12, 5), "answer 12:0*");
  EXPECT_EQ(desk.last().front().id, (SessionId{0, 1}));
  desk.send(1, 1, 13);
  EXPECT_EQ(desk.begin(4, 14, 5), "refuse 14 INVALID_ARGUMENT");
  EXPECT_EQ(desk.stats().begun, 1U);
}

TEST(SessionParts, NoNonceBeginsAnew) {
  Desk desk;
  desk.begin(1, 10);
  desk.begin(2, 11);
  EXPECT_EQ(desk.stats().begun, 2U);
}

SessionRequest named_begin(std::uint64_t id, const HolderName& client, const SessionNonce& nonce) {
  SessionRequest begin = Desk::request(id, 0, 10 + id);
  begin.verb = SessionVerb::kBegin;
  begin.client = client;
  begin.nonce = nonce;
  return begin;
}

TEST(SessionParts, ANonceBelongsToItsAccount) {
  for (const SessionNonce& nonce : {SessionNonce{5, 0}, SessionNonce{5, 6}}) {
    Desk desk;
    EXPECT_EQ(desk.submit(named_begin(1, {"alice"}, nonce)), "run 11:0 ->0");
    EXPECT_EQ(desk.submit(named_begin(2, {"bob"}, nonce)), "run 12:0 ->2");
    EXPECT_EQ(desk.submit(named_begin(3, {"", 5}, nonce)), "") << "begun, and in line";
    EXPECT_EQ(desk.stats().begun, 3U);
    EXPECT_EQ(desk.done(1), "answer 11:0; spill 1 0");
    EXPECT_EQ(desk.submit(named_begin(4, {"alice"}, nonce)), "answer 14:0*");
  }
}

TEST(SessionParts, WithoutAccountsANonceBelongsToItsConnection) {
  Desk desk;
  EXPECT_EQ(desk.submit(named_begin(1, {"", 77}, {5, 0})), "run 11:0 ->0");
  EXPECT_EQ(desk.submit(named_begin(2, {"", 78}, {5, 0})), "run 12:0 ->2") << "another's, chosen badly";
  desk.done(1);
  EXPECT_EQ(desk.submit(named_begin(3, {"", 77}, {5, 0})), "answer 13:0*");
  EXPECT_EQ(desk.last().front().id, (SessionId{0, 1}));
}

TEST(SessionParts, ANonceThatNobodyCanGuessIsGoodOnAnyConnection) {
  Desk desk;
  EXPECT_EQ(desk.submit(named_begin(1, {"", 77}, {5, 6})), "run 11:0 ->0");
  EXPECT_EQ(desk.submit(named_begin(2, {"", 78}, {5, 6})), "") << "the client has connected anew";
  EXPECT_EQ(desk.done(1), "answer 11:0; answer 12:0*");
  EXPECT_EQ(desk.submit(named_begin(3, {"", 78}, {5, 7})), "run 13:0 ->2");
  EXPECT_EQ(desk.stats().begun, 2U);
}

TEST(SessionParts, WithoutAccountsTheIdIsEnough) {
  Desk desk;
  desk.submit(named_begin(1, {"", 77}, {5, 0}));
  desk.done(1);
  SessionRequest next = Desk::request(1, 1, 20);
  next.client = {"", 78};
  EXPECT_EQ(desk.submit(next), "run 20:1 0>1");
}

TEST(SessionParts, AnEndWithoutAPartEndsInItsTurn) {
  Desk desk;
  desk.make(1);
  desk.send(1, 1, 11);
  EXPECT_EQ(desk.end(1, 2, 12, true), "");
  EXPECT_EQ(desk.done(1), "answer 11:1; answer 12:2!; free 1");
  EXPECT_EQ(desk.end(1, 2, 13, true), "answer 13:2*!");
  EXPECT_EQ(desk.end(1, 2, 14), "refuse 14 SESSION_EXPIRED") << "this one has a part, which did not run";
}

TEST(SessionParts, AnEndIsKeptForItsRepeat) {
  Desk desk;
  desk.make(1);
  desk.end(1, 1, 11);
  desk.done(1);
  EXPECT_EQ(desk.end(1, 1, 12), "answer 12:1*!");
  EXPECT_EQ(desk.send(1, 1, 13), "refuse 13 SESSION_EXPIRED");
  EXPECT_EQ(desk.end(1, 2, 14), "refuse 14 SESSION_EXPIRED");
  desk.wait(5 * kSecond);
  EXPECT_EQ(desk.end(1, 1, 15), "refuse 15 SESSION_LOST") << "forgotten";
  EXPECT_EQ(desk.stats().kept_bytes, 0U);
}

TEST(SessionParts, AnEndThatFailsEndsNothing) {
  Desk desk;
  desk.make(1);
  desk.end(1, 1, 11);
  EXPECT_EQ(desk.failed(1), "refuse 11 INTERNAL");
  EXPECT_EQ(desk.send(1, 1, 12), "run 12:1 0>1");
}

TEST(SessionParts, WhatComesAfterTheEndIsRefused) {
  Desk desk;
  desk.make(1);
  desk.end(1, 1, 11);
  desk.send(1, 2, 12);
  EXPECT_EQ(desk.done(1), "answer 11:1!; refuse 12 SESSION_EXPIRED; free 1");
}

TEST(SessionParts, ARepeatThatContradictsIsRefused) {
  Desk desk;
  desk.make(1);
  desk.send(1, 1, 11);
  EXPECT_EQ(desk.end(1, 1, 12), "refuse 12 INVALID_ARGUMENT");
  EXPECT_EQ(desk.end(1, 0, 13), "refuse 13 INVALID_ARGUMENT");
  desk.done(1);
  EXPECT_EQ(desk.end(1, 1, 14), "refuse 14 INVALID_ARGUMENT") << "part 1 was not the last";
  EXPECT_EQ(desk.end(1, 2, 15), "run 15:2 1>0");
}

TEST(SessionParts, OtherContentIsNoRepeatOfWhatIsCommitted) {
  Desk desk;
  desk.make(1);
  desk.send(1, 1, 11, 100);
  desk.done(1);
  EXPECT_EQ(desk.send(1, 1, 12, 101), "refuse 12 INVALID_ARGUMENT");
  EXPECT_NE(desk.last_error().message.find("continue with part 2"), std::string::npos);
  EXPECT_EQ(desk.stats().conflicts, 1U);
  EXPECT_EQ(desk.send(1, 1, 13, 100), "answer 13:1*") << "nothing has changed";
  EXPECT_EQ(desk.send(1, 2, 14, 101), "run 14:2 1>0");
}

TEST(SessionParts, OtherContentIsNoRepeatOfWhatRunsOrWaits) {
  Desk desk;
  desk.make(1);
  EXPECT_EQ(desk.send(1, 1, 11, 100), "run 11:1 0>1");
  EXPECT_EQ(desk.send(1, 1, 12, 101), "refuse 12 INVALID_ARGUMENT");
  EXPECT_NE(desk.last_error().message.find("cancel it"), std::string::npos);
  EXPECT_EQ(desk.send(1, 2, 13, 100), "");
  EXPECT_EQ(desk.send(1, 2, 14, 101), "refuse 14 INVALID_ARGUMENT");
  EXPECT_EQ(desk.done(1), "answer 11:1; run 13:2 1>0");
}

TEST(SessionParts, OtherContentTakesThePlaceOfWhatLeftNoTrace) {
  Desk desk;
  desk.make(1);
  desk.send(1, 1, 11, 100);
  EXPECT_EQ(desk.cancel(11), "refuse 11 CANCELLED; stop 1");
  EXPECT_EQ(desk.send(1, 1, 12, 101), "") << "the slots are still in use";
  EXPECT_EQ(desk.done(1), "run 12:1 0>1");
  EXPECT_EQ(desk.failed(1), "refuse 12 INTERNAL");
  EXPECT_EQ(desk.send(1, 1, 13, 102), "run 13:1 0>1");
}

TEST(SessionParts, ANonceBelongsToTheContentItBeganWith) {
  Desk desk;
  SessionRequest begin = Desk::request(1, 0, 10);
  begin.verb = SessionVerb::kBegin;
  begin.nonce = {5, 0};
  begin.content = {100, 0};
  EXPECT_EQ(desk.submit(begin), "run 10:0 ->0");
  for (const bool committed : {false, true}) {
    if (committed) desk.done(1);
    begin.request = 11;
    begin.content = {101, 0};
    EXPECT_EQ(desk.submit(begin), "refuse 11 INVALID_ARGUMENT");
    EXPECT_NE(desk.last_error().message.find("new nonce"), std::string::npos);
  }
  begin.request = 12;
  begin.content = {100, 0};
  EXPECT_EQ(desk.submit(begin), "answer 12:0*");
}

TEST(SessionParts, AnEndThatIsRepeatedWithOtherContentIsRefused) {
  Desk desk;
  desk.make(1);
  SessionRequest end = Desk::request(1, 1, 11);
  end.verb = SessionVerb::kEnd;
  end.content = {100, 0};
  EXPECT_EQ(desk.submit(end), "run 11:1 0>1");
  EXPECT_EQ(desk.done(1), "answer 11:1!; free 1");
  end.request = 12;
  end.content = {101, 0};
  EXPECT_EQ(desk.submit(end), "refuse 12 INVALID_ARGUMENT");
  end.request = 13;
  end.content = {100, 0};
  EXPECT_EQ(desk.submit(end), "answer 13:1*!");
}

TEST(SessionParts, ReportsOfNothingAreIgnored) {
  Desk desk;
  desk.make(1);
  EXPECT_EQ(desk.done(1), "");
  EXPECT_EQ(desk.failed(1), "");
  EXPECT_EQ(desk.spilled(1), "");
  EXPECT_EQ(desk.restored(1), "");
  SessionActions out;
  desk.table.finished({77, 0}, {}, desk.now, out);
  desk.table.release(SessionRef{}, SessionEnd::kLost, desk.now, out);
  desk.table.cancel({}, {}, desk.now, out);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(desk.stats().live, 1U);
}

}  // namespace
}  // namespace volvox::desk
