#include "routing/newcomers.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "routing/typical_costs.h"

namespace volvox {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

const TimePoint kStart{seconds(100)};

TEST(Newcomers, ThoseThatWaitLongestGiveWay) {
  Newcomers<int> newcomers(3, seconds(3));
  for (int who = 0; who < 3; ++who) EXPECT_EQ(newcomers.add(who, kStart), std::nullopt);
  EXPECT_EQ(newcomers.add(3, kStart), 0);
  EXPECT_EQ(newcomers.add(1, kStart), std::nullopt) << "it is there already";
  EXPECT_EQ(newcomers.add(4, kStart), 2) << "1 has started afresh";
  EXPECT_EQ(newcomers.size(), 3U);
}

TEST(Newcomers, WhoDoesNotJoinInTimeIsForgotten) {
  Newcomers<int> newcomers(8, seconds(3));
  for (int who = 0; who < 3; ++who) newcomers.add(who, kStart + seconds(who));
  newcomers.remove(1);
  EXPECT_TRUE(newcomers.take_expired(kStart + seconds(2)).empty());
  EXPECT_EQ(newcomers.take_expired(kStart + seconds(4)), std::vector<int>{0});
  EXPECT_EQ(newcomers.take_expired(kStart + seconds(9)), std::vector<int>{2});
  EXPECT_EQ(newcomers.size(), 0U);
}

TEST(TypicalCosts, AreThoseMeasuredLast) {
  TypicalCosts costs(4, microseconds(100));
  EXPECT_EQ(costs.of("m", 1, Duration::zero()), microseconds(100));
  EXPECT_EQ(costs.of("m", 1, microseconds(7)), microseconds(7));
  EXPECT_EQ(costs.of("m", 1, Duration::zero()), microseconds(7));
  EXPECT_EQ(costs.of("m", 2, Duration::zero()), microseconds(100)) << "another version";
}

// A node that goes on joining with other names for its models takes no memory for it.
TEST(TypicalCosts, AreKeptOfAsManyModelsAsTheBoundSays) {
  TypicalCosts costs(4, microseconds(100));
  costs.of("used", 1, microseconds(7));
  for (int i = 0; i < 1000; ++i) {
    costs.of(std::to_string(i), 1, microseconds(9));
    EXPECT_EQ(costs.of("used", 1, Duration::zero()), microseconds(7));
    EXPECT_LE(costs.size(), 4U);
  }
  EXPECT_EQ(costs.of("0", 1, Duration::zero()), microseconds(100)) << "forgotten";
}

}  // namespace
}  // namespace volvox
