#include "routing/credits.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace volvox {
namespace {

TEST(CreditSplit, ALoneRouterGetsAllButANewcomersShare) {
  CreditSplit split(100, 0.2);
  split.add(1);
  split.split();
  EXPECT_EQ(split.grant(1), (CreditGrant{90, 90}));
  ASSERT_TRUE(split.take(1, 60));
  const Status more = split.take(1, 31);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ErrorCode::kOverloaded);
  split.finish(1, 60);
  split.split();
  EXPECT_EQ(split.grant(1).limit, 150U);
  EXPECT_EQ(split.take(2, 1).error().code, ErrorCode::kUnavailable);
}

TEST(CreditSplit, ADeadRoutersShareIsFreeAtOnce) {
  CreditSplit split(100, 0.2);
  split.add(1);
  split.split();
  split.add(2);
  split.split();
  EXPECT_EQ(split.grant(2).limit, 10U) << "the first one holds the rest";
  split.remove(1);
  split.split();
  EXPECT_EQ(split.grant(2).limit, 90U);
}

TEST(CreditSplit, IsDueWhenMuchHasEnded) {
  CreditSplit split(160, 0.2);
  EXPECT_FALSE(split.is_due());
  split.add(1);
  split.split();
  ASSERT_TRUE(split.take(1, 100));
  split.finish(1, 9);
  EXPECT_FALSE(split.is_due());
  split.finish(1, 1);
  EXPECT_TRUE(split.is_due());
  split.split();
  EXPECT_FALSE(split.is_due());
  EXPECT_EQ(split.grant(1).limit, 154U);
}

TEST(CreditLine, UrgentRequestsMayUseTheReserve) {
  CreditLine line(0.25);
  EXPECT_FALSE(line.may_send(1, true));
  line.granted({8, 8});
  line.sent(6);
  EXPECT_FALSE(line.may_send(1, false));
  EXPECT_TRUE(line.may_send(2, true));
  EXPECT_FALSE(line.may_send(3, true));
  line.finished(6);
  line.granted({14, 8});
  EXPECT_TRUE(line.may_send(6, false));
  line.granted({10, 8});
  EXPECT_EQ(line.available(), 8U) << "an older grant takes nothing back";
}

// One node and its routers, with messages that come late or never.
class Cluster {
 public:
  explicit Cluster(std::uint64_t seed) : dice_(seed) {
    for (std::uint32_t i = 0; i < kRouters; ++i) revive(i);
  }
  void step() {
    const std::uint32_t i = dice_() % kRouters;
    Router& router = routers_[i];
    const std::uint64_t amount = 1 + dice_() % 5;
    switch (dice_() % 8) {
      case 0:
      case 1:
      case 2:
        if (!router.line.may_send(amount, dice_() % 4 == 0)) return router.line.missed(amount);
        router.line.sent(amount);
        ASSERT_TRUE(split_.take(i, amount)) << "who has credit is never refused";
        router.running.push_back(amount);
        return;
      case 3:
      case 4:
        if (router.running.empty()) return;
        split_.finish(i, router.running.back());
        router.line.finished(router.running.back());
        router.running.pop_back();
        return;
      case 5:
        router.grant = split_.grant(i);
        return;
      case 6:
        router.line.granted(router.grant);
        return;
      default:
        split_.heard(i, router.line.wanted(), router.line.given_back());
        split_.split();
        if (dice_() % 50 == 0) revive(i);
    }
  }
  void check() {
    std::uint64_t running = 0;
    for (const Router& router : routers_)
      for (const std::uint64_t amount : router.running) running += amount;
    ASSERT_LE(running, kTotal);
    ASSERT_LE(split_.out(), kTotal);
  }
  // Everything ends, and only this one wants something.
  void give_all_to(std::uint32_t wanting) {
    for (int round = 0; round < 60; ++round) {
      for (std::uint32_t i = 0; i < kRouters; ++i) {
        Router& router = routers_[i];
        for (const std::uint64_t amount : router.running) {
          split_.finish(i, amount);
          router.line.finished(amount);
        }
        router.running.clear();
        if (i == wanting) router.line.missed(1000);
        split_.heard(i, router.line.wanted(), router.line.given_back());
      }
      split_.split();
      for (std::uint32_t i = 0; i < kRouters; ++i) routers_[i].line.granted(split_.grant(i));
    }
    for (std::uint32_t i = 0; i < kRouters; ++i) {
      const std::uint64_t floor = kTotal / 4 / (kRouters + 1);
      EXPECT_GE(routers_[i].line.available(), i == wanting ? kTotal - kTotal / 4 : floor) << i;
    }
  }

  static constexpr std::uint32_t kRouters = 4;

 private:
  static constexpr std::uint64_t kTotal = 1000;
  struct Router {
    CreditLine line{0.1};
    CreditGrant grant;
    std::vector<std::uint64_t> running;
  };
  void revive(std::uint32_t i) {
    split_.remove(i);
    routers_[i] = {};
    split_.add(i);
  }

  std::mt19937_64 dice_;
  CreditSplit split_{kTotal, 0.25};
  Router routers_[kRouters];
};

TEST(CreditWorlds, NeverMoreThanTheTotalAndNobodyStarves) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Cluster cluster(seed);
    for (int i = 0; i < 2000; ++i) {
      ASSERT_NO_FATAL_FAILURE(cluster.step()) << "seed " << seed;
      ASSERT_NO_FATAL_FAILURE(cluster.check()) << "seed " << seed << " step " << i;
    }
    cluster.give_all_to(static_cast<std::uint32_t>(seed % Cluster::kRouters));
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace volvox
