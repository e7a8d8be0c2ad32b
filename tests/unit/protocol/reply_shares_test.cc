#include "protocol/sockets/reply_shares.h"

#include <gtest/gtest.h>

namespace volvox {
namespace {

TEST(ReplyShares, CountsAReplyUntilItIsGivenBack) {
  ReplyShares shares(100, 1000);
  const auto first = shares.hold("a", 60), second = shares.hold("a", 100);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(shares.bytes(), 160U);
  EXPECT_EQ(shares.replies(), 2U);
  EXPECT_FALSE(shares.hold("a", 41)) << "besides the largest, its share is used up";
  EXPECT_TRUE(shares.hold("b", 100));
  shares.give_back(*first, 60);
  EXPECT_TRUE(shares.hold("a", 41));
  EXPECT_EQ(shares.bytes(), 241U);
}

TEST(ReplyShares, LetsOneReplyInHoweverLargeItIs) {
  ReplyShares shares(100, 1000);
  const auto huge = shares.hold("a", 5000);
  ASSERT_TRUE(huge);
  EXPECT_TRUE(shares.hold("a", 1)) << "a pong, while the large one is on its way";
  EXPECT_FALSE(shares.must_go()) << "it is one reply that is too large";
  EXPECT_FALSE(shares.hold("a", 100));
  shares.give_back(*huge, 5000);
  EXPECT_TRUE(shares.hold("a", 1)) << "it has left";
  shares.give_back(*huge, 1);
  shares.give_back(*huge, 1);
  EXPECT_EQ(shares.holders(), 0U);
  EXPECT_TRUE(shares.hold("a", 1));
}

TEST(ReplyShares, TheBiggestHolderGivesWayNotTheNextOne) {
  ReplyShares shares(1000, 1500);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(shares.hold("hoarder", 100));
  ASSERT_TRUE(shares.hold("other", 590));
  EXPECT_FALSE(shares.must_go());
  ASSERT_TRUE(shares.hold("slow for a moment", 20));
  EXPECT_EQ(shares.must_go(), "hoarder");
  EXPECT_EQ(shares.forget("hoarder"), 10U);
  EXPECT_FALSE(shares.must_go());
  EXPECT_EQ(shares.bytes(), 610U);
}

TEST(ReplyShares, WhatWasForgottenIsGivenBackWithoutEffect) {
  ReplyShares shares(100, 1000);
  const auto before = shares.hold("a", 60);
  ASSERT_TRUE(before);
  EXPECT_EQ(shares.forget("a"), 1U);
  EXPECT_EQ(shares.forget("a"), 0U);
  const auto after = shares.hold("a", 70);
  ASSERT_TRUE(after);
  EXPECT_NE(*before, *after);
  shares.give_back(*before, 60);
  EXPECT_EQ(shares.bytes(), 70U);
  EXPECT_EQ(shares.replies(), 1U);
}

}  // namespace
}  // namespace volvox
