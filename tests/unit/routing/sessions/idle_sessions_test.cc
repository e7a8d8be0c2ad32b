#include "routing/sessions/idle_sessions.h"

#include <gtest/gtest.h>

namespace volvox {
namespace {

constexpr TimePoint at(std::int64_t second) {
  return TimePoint{} + std::chrono::seconds(second);
}

const auto kAnyone = [](std::uint32_t) { return true; };

TEST(IdleSessions, TheLeastRecentlyActiveIsFirst) {
  IdleSessions idle;
  EXPECT_EQ(idle.first(), std::nullopt);
  EXPECT_EQ(idle.oldest(), std::nullopt);
  idle.add(4, 0, at(1));
  idle.add(2, 0, at(2));
  EXPECT_EQ(idle.first(), 4U);
  EXPECT_EQ(idle.oldest(), at(1));
  idle.touch(4, at(3));
  EXPECT_EQ(idle.first(), 2U);
  EXPECT_EQ(idle.oldest(), at(2));
  idle.remove(2);
  EXPECT_EQ(idle.first(), 4U);
  EXPECT_EQ(idle.oldest(), at(3));
}

TEST(IdleSessions, OneIsOldEnoughFromItsLastActivityOn) {
  IdleSessions idle;
  idle.add(1, 0, at(5));
  EXPECT_EQ(idle.first_since(at(4)), std::nullopt);
  EXPECT_EQ(idle.first_since(at(5)), 1U);
}

TEST(IdleSessions, WhoIsNotAmongThemIsIgnored) {
  IdleSessions idle;
  idle.touch(7, at(1));
  idle.remove(7);
  idle.add(1, 0, at(1));
  idle.touch(0, at(2));
  idle.remove(0);
  EXPECT_FALSE(idle.contains(0));
  EXPECT_TRUE(idle.contains(1));
  EXPECT_FALSE(idle.contains(7));
}

TEST(IdleSessions, EachHolderHasAnOrderOfItsOwn) {
  IdleSessions idle;
  idle.add(1, 0, at(1));
  idle.add(2, 3, at(2));
  idle.add(3, 3, at(3));
  EXPECT_EQ(idle.first_of(0, kAnyone), 1U);
  EXPECT_EQ(idle.first_of(3, kAnyone), 2U);
  EXPECT_EQ(idle.first_of(3, [](std::uint32_t session) { return session != 2; }), 3U);
  EXPECT_EQ(idle.first_of(3, [](std::uint32_t session) { return session == 1; }), std::nullopt);
  EXPECT_EQ(idle.first_of(1, kAnyone), std::nullopt);
  EXPECT_EQ(idle.first_of(kNoIndex, kAnyone), std::nullopt);
  idle.touch(2, at(4));
  EXPECT_EQ(idle.first_of(3, kAnyone), 3U);
}

}  // namespace
}  // namespace volvox
