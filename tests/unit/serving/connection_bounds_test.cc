#include "serving/connection_bounds.h"

#include <chrono>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace volvox {
namespace {

using std::chrono::seconds;
using Verdict = ConnectionBounds::Verdict;

TimePoint at(int second) {
  return TimePoint{} + seconds(second);
}

ConnectionLimits limits(std::size_t connections, std::size_t per_client = 0) {
  return {connections, per_client, seconds(5)};
}

TEST(ConnectionBounds, AFullDoorSendsAwayTheOldestThatWaits) {
  ConnectionBounds bounds(limits(3));
  for (int i = 1; i <= 3; ++i) EXPECT_EQ(bounds.enter(i, "a", at(0)).verdict, Verdict::kEnters);
  bounds.stays(1);
  const auto entry = bounds.enter(4, "a", at(1));
  EXPECT_EQ(entry.verdict, Verdict::kEnters);
  EXPECT_EQ(entry.gives_way, 2U);
  EXPECT_EQ(bounds.size(), 3U);
}

TEST(ConnectionBounds, WhoseRequestIsInWorkStays) {
  ConnectionBounds bounds(limits(2));
  for (int i = 1; i <= 2; ++i) {
    bounds.enter(i, "a", at(0));
    bounds.stays(i);
  }
  EXPECT_EQ(bounds.enter(3, "b", at(0)).verdict, Verdict::kDoorIsFull);
  bounds.left(1);
  EXPECT_EQ(bounds.enter(4, "b", at(0)).verdict, Verdict::kEnters);
}

TEST(ConnectionBounds, ManyOfOneNeverDisplaceTheOneOfAnother) {
  ConnectionBounds bounds(limits(4));
  bounds.enter(1, "honest", at(0));
  for (ConnectionBounds::Id id = 2; id < 1000; ++id) {
    const auto entry = bounds.enter(id, "flood", at(0));
    ASSERT_EQ(entry.verdict, Verdict::kEnters);
    ASSERT_NE(entry.gives_way, 1U);
  }
}

TEST(ConnectionBounds, OneClientHasAtMostItsOwn) {
  ConnectionBounds bounds(limits(100, 2));
  bounds.enter(1, "a", at(0));
  bounds.enter(2, "a", at(0));
  EXPECT_EQ(bounds.enter(3, "a", at(0)).gives_way, 1U);
  bounds.stays(2);
  bounds.stays(3);
  EXPECT_EQ(bounds.enter(4, "a", at(0)).verdict, Verdict::kClientHasTooMany);
  EXPECT_EQ(bounds.enter(5, "b", at(0)).verdict, Verdict::kEnters);
  EXPECT_EQ(bounds.size(), 3U);
}

TEST(ConnectionBounds, MakesRoomWhereSomethingIsShort) {
  ConnectionBounds bounds(limits(10));
  EXPECT_FALSE(bounds.make_room(0));
  bounds.enter(1, "one", at(0));
  bounds.enter(2, "two", at(0));
  bounds.enter(3, "two", at(0));
  EXPECT_EQ(bounds.make_room(2), 3U) << "the oldest of the biggest asks itself";
  EXPECT_EQ(bounds.make_room(2), 1U) << "nobody else is left";
  EXPECT_FALSE(bounds.make_room(2));
  bounds.enter(1, "one", at(0));
  bounds.enter(3, "two", at(0));
  EXPECT_EQ(bounds.make_room(3), 2U);
  bounds.stays(1);
  EXPECT_FALSE(bounds.make_room(3)) << "it asks for itself";
  EXPECT_EQ(bounds.size(), 2U);
}

TEST(ConnectionBounds, PatienceEnds) {
  ConnectionBounds bounds(limits(10));
  bounds.enter(1, "a", at(0));
  bounds.enter(2, "a", at(2));
  EXPECT_TRUE(bounds.late(at(4)).empty());
  EXPECT_EQ(bounds.late(at(5)), std::vector<ConnectionBounds::Id>{1});
  bounds.stays(1);
  EXPECT_TRUE(bounds.late(at(6)).empty());
  EXPECT_EQ(bounds.late(at(7)), std::vector<ConnectionBounds::Id>{2});
  bounds.may_go(1, at(7));
  bounds.left(2);
  EXPECT_TRUE(bounds.late(at(11)).empty());
  EXPECT_EQ(bounds.late(at(12)), std::vector<ConnectionBounds::Id>{1});
  bounds.left(2);
  bounds.stays(77);
  bounds.may_go(77, at(0));
}

TEST(ConnectionBounds, HoldsInAnyOrder) {
  std::mt19937 random(7);
  ConnectionBounds bounds(limits(16, 5));
  std::set<ConnectionBounds::Id> open;
  for (ConnectionBounds::Id id = 1; id < 20'000; ++id) {
    const auto pick = [&] {
      return open.empty() ? 0 : *std::next(open.begin(), static_cast<long>(random() % open.size()));
    };
    const auto entry = bounds.enter(id, std::string(1, static_cast<char>('a' + random() % 5)), at(0));
    if (entry.gives_way) {
      ASSERT_EQ(open.erase(*entry.gives_way), 1U);
    }
    if (entry.verdict == Verdict::kEnters) open.insert(id);
    if (random() % 3 == 0) bounds.stays(pick());
    if (random() % 3 == 0) bounds.may_go(pick(), at(1));
    if (const auto leaves = pick(); random() % 4 == 0 && leaves != 0) {
      bounds.left(leaves);
      open.erase(leaves);
    }
    ASSERT_EQ(bounds.size(), open.size());
    ASSERT_LE(open.size(), 16U);
  }
  for (const auto id : std::set(open)) bounds.left(id);
  EXPECT_EQ(bounds.size(), 0U);
}

}  // namespace
}  // namespace volvox
