// What one client may have of what all share, and who gives way to whom.

#include <gtest/gtest.h>

#include "tests/unit/routing/sessions/session_desk.h"

namespace volvox::desk {
namespace {

constexpr std::uint64_t kState = 10;  // bytes of each state in host memory

class Shares : public testing::Test {
 protected:
  explicit Shares(const SessionLimits& limits = small_limits()) : desk(limits) {}

  static SessionRequest begin_request(std::uint64_t id, const HolderName& client) {
    SessionRequest begin = Desk::request(id, 0, 10 * id);
    begin.verb = SessionVerb::kBegin;
    begin.client = client;
    begin.state_bytes = kState;
    return begin;
  }
  std::string begin(std::uint64_t id, const HolderName& client) {
    desk.now += kSecond / 1000;
    return desk.submit(begin_request(id, client));
  }
  // An idle session of this client; what the table wants done for it is done.
  void make(std::uint64_t id, const HolderName& client, std::uint64_t bytes = 10) {
    begin(id, client);
    for (std::uint64_t other = 1; other < id; ++other) desk.spilled(other);
    desk.done(id, bytes);
  }
  std::string send(std::uint64_t id, const HolderName& client) {
    SessionRequest next = Desk::request(id, 1, 10 * id + 1);
    next.client = client;
    return desk.submit(next);
  }
  bool live(std::uint64_t id) const { return desk.table.find({0, id}).has_value(); }

  const HolderName alice{"alice"}, bob{"bob"}, carol{"", 7}, dave{"", 8};
  Desk desk;
};

TEST_F(Shares, AFullTableGivesUpAnIdleOneOfWhoHasMost) {
  make(1, bob);
  for (std::uint64_t id = 2; id <= 4; ++id) make(id, alice);
  desk.now += kSecond;
  desk.send(1, 0, 99);  // whoever was idle for longest does not matter
  EXPECT_EQ(begin(5, carol).find("refuse"), std::string::npos);
  EXPECT_TRUE(live(1));
  EXPECT_FALSE(live(2)) << "her least recently active";
  EXPECT_EQ(desk.stats().gave_way, 1U);
  EXPECT_EQ(desk.stats().most_sessions, 2U);
  EXPECT_EQ(desk.stats().clients, 3U);
  EXPECT_EQ(send(2, alice), "refuse 21 SESSION_LOST");
}

TEST_F(Shares, NobodyGivesWayToOneThatWouldHaveAsMany) {
  make(1, alice);
  make(2, alice);
  make(3, bob);
  make(4, carol);
  EXPECT_EQ(begin(5, bob), "refuse 50 OVERLOADED") << "they would only change places";
  EXPECT_EQ(begin(6, alice), "refuse 60 OVERLOADED");
  EXPECT_EQ(begin(7, dave).find("refuse"), std::string::npos);
  EXPECT_FALSE(live(1));
  EXPECT_EQ(begin(8, {"erin"}), "refuse 80 OVERLOADED") << "each has one";
}

TEST_F(Shares, OnlyIdleOnesGiveWay) {
  for (std::uint64_t id = 1; id <= 4; ++id) make(id, alice);
  for (std::uint64_t id = 1; id <= 4; ++id) send(id, alice);
  EXPECT_EQ(begin(5, bob), "refuse 50 OVERLOADED");
  EXPECT_EQ(desk.stats().gave_way, 0U);
}

TEST_F(Shares, ThoseWhomNobodyKnowsAreOneWithoutABound) {
  SessionLimits limits = small_limits();
  limits.share.sessions = 1;
  Desk other(limits);
  EXPECT_NE(other.submit(begin_request(1, {})), "");
  EXPECT_EQ(other.submit(begin_request(2, {})), "run 20:0 ->2");
  EXPECT_EQ(other.submit(begin_request(3, carol)), "") << "in line";
  EXPECT_EQ(other.submit(begin_request(4, carol)), "refuse 40 OVERLOADED");
  EXPECT_EQ(other.stats().most_sessions, 2U);
  EXPECT_EQ(other.stats().clients, 2U);
}

class BoundedShares : public Shares {
 protected:
  static SessionLimits limits() {
    SessionLimits limits = small_limits();
    limits.share = {2, 60, 2 * kState};
    limits.shares["alice"] = {3, 90, kState};
    return limits;
  }
  BoundedShares() : Shares(limits()) {}
};

TEST_F(BoundedShares, NobodyHasMoreSessionsThanItMay) {
  make(1, bob);
  make(2, bob);
  EXPECT_EQ(begin(3, bob), "refuse 30 OVERLOADED");
  EXPECT_NE(desk.last_error().message.find("2 sessions, the most that one may have"), std::string::npos);
  EXPECT_EQ(desk.stats().over_share, 1U);
  desk.release(1, SessionEnd::kEnded);
  make(3, bob);
  EXPECT_TRUE(live(3));
  make(4, alice);
  make(5, alice);
  EXPECT_EQ(desk.stats().live, 4U);
}

TEST_F(BoundedShares, AnAccountMayHaveAnotherShare) {
  for (std::uint64_t id = 1; id <= 3; ++id) make(id, alice);
  EXPECT_EQ(begin(4, alice), "refuse 40 OVERLOADED");
  EXPECT_EQ(desk.stats().live, 3U);
}

TEST_F(BoundedShares, NobodyKeepsMoreThanItMay) {
  make(1, bob, 40);
  make(2, bob, 40);
  EXPECT_EQ(desk.stats().kept_bytes, 40U) << "his oldest went";
  EXPECT_EQ(send(2, bob).substr(0, 6), "run 21");
  EXPECT_EQ(desk.done(2, 61), "answer 21:1");
  EXPECT_EQ(desk.stats().kept_bytes, 0U) << "larger than his share";
}

TEST_F(BoundedShares, WhoseShareOfTheHostIsFullGivesUpAStateForAnother) {
  make(1, alice);
  make(2, alice);
  EXPECT_EQ(begin(3, bob), "spill 1 0");
  EXPECT_EQ(desk.spilled(1), "free 1; run 30:0 ->0");
  EXPECT_EQ(desk.done(3), "answer 30:0");
  EXPECT_EQ(desk.stats().most_spilled_bytes, kState);
  EXPECT_EQ(begin(4, bob), "forget 1; spill 2 2") << "her first state makes room for her second";
  EXPECT_EQ(desk.stats().spilled_bytes, kState);
  EXPECT_FALSE(live(1));
}

TEST_F(BoundedShares, ButNotForItself) {
  make(1, alice);
  make(2, alice);
  EXPECT_EQ(begin(3, alice), "spill 1 0");
  desk.spilled(1);
  desk.done(3);
  EXPECT_EQ(send(1, alice), "refuse 11 OVERLOADED");
  EXPECT_TRUE(live(1) && live(2) && live(3));
  EXPECT_EQ(desk.stats().failed_spills, 1U);
}

class SmallHost : public Shares {
 protected:
  static SessionLimits limits() {
    SessionLimits limits = small_limits();
    limits.max_sessions = 10;
    limits.max_spilled_bytes = 2 * kState;
    return limits;
  }
  SmallHost() : Shares(limits()) {}
};

TEST_F(SmallHost, WhoHasMostOnTheHostGivesUpAState) {
  for (std::uint64_t id = 1; id <= 4; ++id) make(id, alice);  // 1 and 2 are on the host
  EXPECT_EQ(desk.stats().spilled_bytes, 2 * kState);
  EXPECT_EQ(begin(5, bob), "forget 1; spill 3 0");
  EXPECT_FALSE(live(1));
  EXPECT_TRUE(live(2));
  EXPECT_EQ(desk.stats().gave_way, 1U);
}

TEST_F(SmallHost, WhoHasAsMuchIsRefused) {
  make(1, alice);
  make(2, bob);
  make(3, carol);
  make(4, dave);  // those of alice and bob are on the host
  EXPECT_EQ(send(1, alice), "refuse 11 OVERLOADED");
  EXPECT_EQ(desk.stats().live, 4U);
}

TEST_F(SmallHost, WithoutAnythingOnTheHostNobodyGivesWay) {
  SessionLimits limits = SmallHost::limits();
  limits.max_spilled_bytes = 0;
  Desk other(limits);
  for (std::uint64_t id = 1; id <= 2; ++id) {
    other.submit(begin_request(id, alice));
    other.done(id);
  }
  EXPECT_EQ(other.submit(begin_request(3, bob)), "refuse 30 OVERLOADED");
  EXPECT_EQ(other.stats().live, 2U);
}

TEST(KeptShares, TheOldestOfWhoHasMostGoes) {
  KeptOutputs kept(4, 100, 150);
  KeptList alice, bob;
  alice.holder = 1;
  bob.holder = 2;
  const auto keep = [&](KeptList& list, std::uint64_t sequence, std::uint64_t bytes) {
    kept.keep(list, sequence, {}, nullptr, bytes);
  };
  keep(bob, 0, 20);
  keep(alice, 0, 50);
  keep(alice, 1, 50);
  EXPECT_EQ(kept.most(), 100U);
  keep(bob, 1, 50);
  EXPECT_EQ(kept.find(alice, 0), nullptr);
  EXPECT_NE(kept.find(bob, 0), nullptr) << "the oldest of all, but his";
  EXPECT_EQ(kept.bytes(), 120U);
  keep(bob, 2, 60);
  EXPECT_EQ(kept.find(bob, 0), nullptr) << "now he would have most";
  EXPECT_EQ(kept.find(bob, 1), nullptr);
  EXPECT_NE(kept.find(alice, 1), nullptr);
}

}  // namespace
}  // namespace volvox::desk
