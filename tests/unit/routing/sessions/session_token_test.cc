// What a token must say, and what is bounded besides.

#include <gtest/gtest.h>

#include "tests/unit/routing/sessions/session_desk.h"

namespace volvox::desk {
namespace {

TEST(SessionToken, MustNameASession) {
  Desk desk;
  EXPECT_EQ(desk.send(0, 1, 10), "refuse 10 INVALID_ARGUMENT");
  EXPECT_EQ(desk.send(5, 1, 11), "refuse 11 SESSION_LOST");
  EXPECT_NE(desk.last_error().message.find("begin a new one"), std::string::npos);
}

TEST(SessionToken, MustNameTheModelOfTheSession) {
  Desk desk;
  desk.make(1);
  for (const ModelIdentity& other : {ModelIdentity{9, 2, 3, 4}, ModelIdentity{1, 9, 3, 4},
                                     ModelIdentity{1, 2, 9, 4}, ModelIdentity{1, 2, 3, 9}}) {
    SessionRequest request = Desk::request(1, 1, 11);
    request.model = request.served = other;
    EXPECT_EQ(desk.submit(request), "refuse 11 INVALID_ARGUMENT");
  }
  EXPECT_EQ(desk.send(1, 1, 12), "run 12:1 0>1") << "the session is as it was";
}

TEST(SessionToken, TheStateIsLostWithTheModelThatComputedIt) {
  for (const bool loaded : {false, true}) {
    Desk desk;
    desk.make(1);
    SessionRequest request = Desk::request(1, 1, 11);
    request.loaded = loaded;
    request.served.digest = 9;
    EXPECT_EQ(desk.submit(request), "free 1; refuse 11 SESSION_LOST");
    EXPECT_EQ(desk.send(1, 1, 12), "refuse 12 SESSION_LOST");
  }
}

TEST(SessionToken, IsGoodForTheClientThatBeganTheSession) {
  Desk desk;
  desk.make(1);
  SessionRequest request = Desk::request(1, 1, 11);
  request.client = {"bob"};
  EXPECT_EQ(desk.submit(request), "refuse 11 PERMISSION_DENIED");
  EXPECT_NE(desk.last_error().message.find("that key"), std::string::npos);
  request.verb = SessionVerb::kEnd;
  request.request = 12;
  EXPECT_EQ(desk.submit(request), "refuse 12 PERMISSION_DENIED") << "nor can it end the session";
  EXPECT_EQ(desk.send(1, 1, 13), "run 13:1 0>1") << "the session is as it was";
  request.request = 14;
  EXPECT_EQ(desk.submit(request), "refuse 14 PERMISSION_DENIED") << "nor learn that it ended";
}

TEST(SessionToken, MustBeOfTheSessionsEpoch) {
  Desk desk;
  desk.make(1);
  SessionRequest request = Desk::request(1, 1, 11);
  request.epoch = 6;
  EXPECT_EQ(desk.submit(request), "refuse 11 INVALID_ARGUMENT");
  EXPECT_NE(desk.last_error().message.find("newest reply"), std::string::npos);
  request.epoch = 8;
  EXPECT_EQ(desk.submit(request), "refuse 11 SESSION_LOST");
  EXPECT_EQ(desk.send(1, 1, 12), "run 12:1 0>1");
}

TEST(SessionToken, ABeginMustMakeSense) {
  Desk desk;
  SessionRequest begin = Desk::request(1, 1, 10);
  begin.verb = SessionVerb::kBegin;
  EXPECT_EQ(desk.submit(begin), "refuse 10 INVALID_ARGUMENT");
  begin.sequence = 0;
  begin.empty = true;
  EXPECT_EQ(desk.submit(begin), "refuse 10 INVALID_ARGUMENT");
  begin.empty = false;
  begin.loaded = false;
  EXPECT_EQ(desk.submit(begin), "refuse 10 MODEL_NOT_FOUND");
  begin.loaded = true;
  begin.id = {};
  EXPECT_EQ(desk.submit(begin), "refuse 10 INTERNAL");
  desk.make(1);
  EXPECT_EQ(desk.begin(1, 11), "refuse 11 INTERNAL") << "the id is taken";
  EXPECT_EQ(desk.stats().live, 1U);
}

TEST(SessionToken, ANonceBelongsToOneModel) {
  Desk desk;
  desk.begin(1, 10, 5);
  SessionRequest begin = Desk::request(2, 0, 11);
  begin.verb = SessionVerb::kBegin;
  begin.nonce = {5, 0};
  begin.served.version = 9;
  EXPECT_EQ(desk.submit(begin), "refuse 11 INVALID_ARGUMENT");
}

TEST(SessionLimits, MustMakeSense) {
  EXPECT_TRUE(check(SessionLimits{}));
  EXPECT_TRUE(check(small_limits()));
  const auto broken = [](auto&& breaker) {
    SessionLimits limits;
    breaker(limits);
    return !check(limits);
  };
  EXPECT_TRUE(broken([](SessionLimits& limits) { limits.max_resident = 0; }));
  EXPECT_TRUE(broken([](SessionLimits& limits) { limits.max_sessions = ~0U; }));
  EXPECT_TRUE(broken([](SessionLimits& limits) { limits.max_remembered = ~0U; }));
  EXPECT_TRUE(broken([](SessionLimits& limits) { limits.max_waiting = 1025; }));
  EXPECT_TRUE(broken([](SessionLimits& limits) { limits.max_kept_outputs = 1025; }));
  EXPECT_TRUE(broken([](SessionLimits& limits) { limits.idle_expiry = Duration{0}; }));
  EXPECT_TRUE(broken([](SessionLimits& limits) { limits.remember = Duration::max(); }));
  EXPECT_TRUE(broken([](SessionLimits& limits) { limits.evict_idle = Duration{-1}; }));
}

class Kept : public ::testing::Test {
 protected:
  void keep(KeptList& list, std::uint64_t sequence, std::uint64_t bytes) {
    kept_.keep(list, sequence, {}, nullptr, bytes);
  }
  bool has(const KeptList& list, std::uint64_t sequence) { return kept_.find(list, sequence) != nullptr; }

  KeptOutputs kept_{3, 100, 150};
  KeptList a_, b_;
};

TEST_F(Kept, TheOldestOfASessionGoesWhenItHasTooMany) {
  for (std::uint64_t i = 0; i < 4; ++i) keep(a_, i, 1);
  EXPECT_FALSE(has(a_, 0));
  EXPECT_TRUE(has(a_, 1));
  EXPECT_EQ(kept_.count(), 3U);
  EXPECT_EQ(kept_.bytes(), 3U);
}

TEST_F(Kept, OrTooMuch) {
  keep(a_, 0, 60);
  keep(a_, 1, 40);
  EXPECT_TRUE(has(a_, 0));
  keep(a_, 2, 1);
  EXPECT_FALSE(has(a_, 0));
  EXPECT_EQ(kept_.bytes(), 41U);
}

TEST_F(Kept, TheOldestOfAllGoesWhenAllTogetherAreTooMuch) {
  keep(a_, 0, 10);
  keep(b_, 0, 90);
  keep(a_, 1, 60);
  EXPECT_FALSE(has(a_, 0));
  EXPECT_TRUE(has(b_, 0));
  EXPECT_EQ(kept_.bytes(), 150U);
}

TEST_F(Kept, WhatIsTooLargeIsNotKeptAndDisplacesNothing) {
  keep(a_, 0, 10);
  keep(a_, 1, 101);
  keep(a_, 2, ~std::uint64_t{0});
  EXPECT_TRUE(has(a_, 0));
  EXPECT_FALSE(has(a_, 1));
  EXPECT_EQ(kept_.count(), 1U);
}

TEST_F(Kept, AcknowledgingDropsWhatComesBefore) {
  for (std::uint64_t i = 0; i < 3; ++i) keep(a_, i, 10);
  kept_.acknowledge(a_, 2);
  EXPECT_FALSE(has(a_, 1));
  EXPECT_TRUE(has(a_, 2));
  EXPECT_FALSE(has(a_, 3));
  kept_.clear(a_);
  EXPECT_EQ(kept_.bytes(), 0U);
  EXPECT_EQ(kept_.count(), 0U);
}

}  // namespace
}  // namespace volvox::desk
