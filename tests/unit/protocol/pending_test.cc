#include "protocol/client/pending.h"

#include <gtest/gtest.h>

namespace volvox {
namespace {

using Match = PendingRequests::Match;
TimePoint time_at(int ns) {
  return TimePoint(Duration(ns));
}

TEST(PendingRequests, TellsLateFromDuplicateFromUnknown) {
  PendingRequests pending;
  EXPECT_EQ(pending.match(0), Match::kUnknown);
  EXPECT_EQ(pending.match(1), Match::kUnknown);
  EXPECT_TRUE(pending.add(1, time_at(0), time_at(10)));
  EXPECT_TRUE(pending.add(2, time_at(0), time_at(10)));
  EXPECT_FALSE(pending.add(2, time_at(0), time_at(20)));
  EXPECT_EQ(pending.match(1), Match::kPending);
  pending.remove(1, true);
  pending.remove(2, false);
  EXPECT_EQ(pending.match(1), Match::kDuplicate);
  EXPECT_EQ(pending.match(2), Match::kLate);
  EXPECT_EQ(pending.match(3), Match::kUnknown);
  EXPECT_EQ(pending.size(), 0U);
}

TEST(PendingRequests, ExpiresInOrderAndOnlyWhatIsInFlight) {
  PendingRequests pending;
  pending.add(1, time_at(0), time_at(30));
  pending.add(2, time_at(0), time_at(10));
  pending.add(3, time_at(0), time_at(20));
  pending.add(4, time_at(0), TimePoint::max());
  pending.remove(3, true);
  EXPECT_EQ(pending.next_deadline(), time_at(10));
  EXPECT_TRUE(pending.expired(time_at(9)).empty());
  EXPECT_EQ(pending.expired(time_at(30)), (std::vector<std::uint64_t>{2, 1}));
  EXPECT_EQ(pending.next_deadline(), TimePoint::max());
}

TEST(PendingRequests, AnIdUsedAgainHasItsNewDeadline) {
  PendingRequests pending;
  pending.add(1, time_at(0), time_at(10));
  pending.remove(1, true);
  pending.add(1, time_at(5), time_at(50));
  EXPECT_TRUE(pending.expired(time_at(20)).empty());
  EXPECT_EQ(pending.expired(time_at(50)), std::vector<std::uint64_t>{1});
}

TEST(PendingRequests, KeepsEveryDeadlineThroughClearingUp) {
  PendingRequests pending;
  pending.add(1, time_at(0), time_at(1'000'000));
  for (std::uint64_t id = 2; id < 200'000; ++id) {
    pending.add(id, time_at(0), time_at(2'000'000));
    pending.remove(id, true);
  }
  pending.add(200'000, time_at(0), time_at(3));
  EXPECT_EQ(pending.expired(time_at(2'000'000)), (std::vector<std::uint64_t>{200'000, 1}));
}

}  // namespace
}  // namespace volvox
