#include "routing/membership.h"

#include <gtest/gtest.h>

namespace volvox {
namespace {

using Kind = MemberEvent::Kind;
using std::chrono::milliseconds;

TimePoint at(int ms) {
  return TimePoint(milliseconds(ms));
}

std::vector<Kind> kinds(const MemberEvents& events) {
  std::vector<Kind> all;
  for (const MemberEvent& event : events) all.push_back(event.kind);
  return all;
}

class MembershipTest : public testing::Test {
 protected:
  // Calls every 50 ms, as a router does, so that no time is taken for its own sleep.
  void wait_until(int ms) {
    for (; now_ < ms; now_ += 50) members_.advance(at(now_), events_);
    members_.advance(at(ms), events_);
    now_ = ms;
  }
  NodeId join(std::string_view name, Incarnation incarnation) {
    return members_.join(name, incarnation, at(now_), events_).value();
  }

  Membership members_{MembershipLimits{}};
  MemberEvents events_;
  int now_ = 0;
};

TEST_F(MembershipTest, ASilentMemberIsSuspectedThenDead) {
  const NodeId node = join("a", 7);
  wait_until(399);
  EXPECT_TRUE(members_.find(node)->takes_work());
  wait_until(400);
  EXPECT_EQ(members_.find(node)->state, MemberState::kSuspect);
  EXPECT_FALSE(members_.find(node)->takes_work());
  wait_until(999);
  EXPECT_NE(members_.find(node), nullptr);
  wait_until(1000);
  EXPECT_EQ(members_.find(node), nullptr);
  EXPECT_FALSE(members_.find("a"));
  EXPECT_EQ(kinds(events_), (std::vector{Kind::kJoined, Kind::kSuspected, Kind::kDied}));
  EXPECT_EQ(events_.back().name, "a");
  EXPECT_FALSE(members_.report(node, 0, at(1001), events_));
}

TEST_F(MembershipTest, WhatCountsIsWhenTheEchoedPingWasSent) {
  const NodeId node = join("a", 7);
  wait_until(100);
  const Ping ping = members_.ping(at(100));
  wait_until(390);
  EXPECT_TRUE(members_.report(node, ping, at(390), events_));
  wait_until(499);
  EXPECT_TRUE(members_.find(node)->takes_work());
  wait_until(500);
  EXPECT_FALSE(members_.find(node)->takes_work());
  // It is heard, but it does not hear: the old echo again.
  EXPECT_TRUE(members_.report(node, ping, at(600), events_));
  EXPECT_FALSE(members_.find(node)->takes_work());
  const Ping fresh = members_.ping(at(600));
  EXPECT_TRUE(members_.report(node, fresh, at(650), events_));
  EXPECT_TRUE(members_.find(node)->takes_work());
  EXPECT_EQ(kinds(events_), (std::vector{Kind::kJoined, Kind::kSuspected, Kind::kRecovered}));
}

TEST_F(MembershipTest, WhatOnlyAHearerSendsCountsAsAnEcho) {
  const NodeId node = join("a", 7);
  for (int ms = 300; ms <= 3000; ms += 300) {
    wait_until(ms);
    members_.heard(node, at(ms), events_);
  }
  members_.disconnected(node, at(3000), events_);
  EXPECT_EQ(members_.find(node)->state, MemberState::kSuspect);
  members_.heard(node, at(3010), events_);
  EXPECT_EQ(members_.find(node)->state, MemberState::kAlive);
  wait_until(4011);
  EXPECT_EQ(members_.find(node), nullptr) << "and then nothing more";
  members_.heard(node, at(4020), events_);
  EXPECT_EQ(members_.find(node), nullptr);
}

TEST_F(MembershipTest, AnEchoOfWhatWasNeverSentProvesNothing) {
  const NodeId node = join("a", 7);
  wait_until(100);
  const Ping ping = members_.ping(at(100));
  EXPECT_TRUE(members_.report(node, ping + 1'000'000'000, at(200), events_));
  EXPECT_TRUE(members_.report(node, -5, at(200), events_));
  wait_until(400);
  EXPECT_FALSE(members_.find(node)->takes_work());
}

TEST_F(MembershipTest, AProcessThatSleptItselfAccusesNobody) {
  const NodeId node = join("a", 7);
  members_.advance(at(50), events_);
  members_.advance(at(60'000), events_);
  EXPECT_TRUE(members_.find(node)->takes_work());
  now_ = 60'000;
  wait_until(60'150);
  EXPECT_FALSE(members_.find(node)->takes_work()) << "from now on, silence counts again";
}

TEST_F(MembershipTest, ANewIncarnationMakesTheOldOneDeadAtOnce) {
  const NodeId old = join("a", 7);
  const auto other = members_.join("a", 8, at(now_), events_);
  ASSERT_FALSE(other) << "the first one is alive";
  EXPECT_EQ(other.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(events_.size(), 1U) << "and nothing happened to it";
  members_.disconnected(old, at(now_), events_);
  events_.clear();
  const NodeId fresh = join("a", 8);
  EXPECT_NE(old, fresh);
  EXPECT_EQ(members_.find(old), nullptr);
  EXPECT_EQ(members_.find("a"), fresh);
  EXPECT_EQ(kinds(events_), (std::vector{Kind::kDied, Kind::kJoined}));
  const auto back = members_.join("a", 7, at(now_), events_);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(members_.find("a"), fresh);
}

TEST_F(MembershipTest, TheSameProcessMayJoinAfreshAtAnyTime) {
  const NodeId first = join("a", 7);
  const NodeId second = join("a", 7);
  EXPECT_EQ(members_.find(first), nullptr);
  wait_until(1000);
  EXPECT_EQ(members_.find(second), nullptr);
  EXPECT_TRUE(members_.find(join("a", 7))->takes_work());
}

TEST_F(MembershipTest, ADrainingMemberGetsNothingNewAndLeaves) {
  const NodeId node = join("a", 7);
  members_.drain(node, events_);
  members_.drain(node, events_);
  EXPECT_FALSE(members_.find(node)->takes_work());
  EXPECT_EQ(members_.find(node)->state, MemberState::kAlive);
  members_.leave(node, events_);
  members_.leave(node, events_);
  EXPECT_EQ(members_.find(node), nullptr);
  EXPECT_EQ(kinds(events_), (std::vector{Kind::kJoined, Kind::kDraining, Kind::kLeft}));
  EXPECT_EQ(members_.ended("a"), MemberState::kLeft);
  join("a", 8);
  EXPECT_EQ(members_.ended("a"), std::nullopt);
  wait_until(1000);
  EXPECT_EQ(members_.ended("a"), MemberState::kDead);
  EXPECT_EQ(members_.ended("b"), std::nullopt);
}

TEST_F(MembershipTest, ALostConnectionIsSuspectedUntilItIsHeardOf) {
  const NodeId node = join("a", 7);
  wait_until(100);
  members_.disconnected(node, at(100), events_);
  EXPECT_EQ(members_.find(node)->state, MemberState::kSuspect);
  const Ping ping = members_.ping(at(100));
  EXPECT_TRUE(members_.report(node, ping, at(120), events_));
  EXPECT_TRUE(members_.find(node)->takes_work());
}

TEST_F(MembershipTest, NoMoreThanItsBound) {
  Membership small({.max_members = 2});
  const auto first = small.join("a", 1, at(0), events_);
  ASSERT_TRUE(first);
  ASSERT_TRUE(small.join("b", 2, at(0), events_));
  const auto third = small.join("c", 3, at(0), events_);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, ErrorCode::kOverloaded);
  small.disconnected(*first, at(0), events_);
  EXPECT_TRUE(small.join("a", 4, at(0), events_)) << "it makes room for itself";
  EXPECT_EQ(small.size(), 2U);
}

TEST(MembershipLimits, ContradictionsAreNamed) {
  EXPECT_TRUE(check(MembershipLimits{}));
  EXPECT_FALSE(check(MembershipLimits{.suspect_after = milliseconds(0)}));
  EXPECT_FALSE(check(MembershipLimits{.dead_after = milliseconds(400)}));
  EXPECT_FALSE(check(MembershipLimits{.longest_gap = milliseconds(1000)}));
  EXPECT_FALSE(check(MembershipLimits{.max_members = 0}));
}

}  // namespace
}  // namespace volvox
