#include "routing/router.h"

#include <gtest/gtest.h>

namespace volvox {
namespace {

TEST(Router, RefusesWhileNobodyIsThere) {
  Router router;
  const auto nowhere = router.place({"mt"});
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, ErrorCode::kUnavailable);
}

TEST(Router, PlacesOnItsMemberUntilItLeaves) {
  Router router;
  ASSERT_TRUE(router.join(3));
  EXPECT_EQ(router.place({"mt"}), 3U);
  EXPECT_EQ(router.place({"other", 2, 100}), 3U);
  router.leave(4);
  EXPECT_EQ(router.place({"mt"}), 3U);
  router.leave(3);
  EXPECT_FALSE(router.place({"mt"}));
}

TEST(Router, AMemberMayJoinAgainButNoSecondOne) {
  Router router;
  ASSERT_TRUE(router.join(0));
  EXPECT_TRUE(router.join(0));
  EXPECT_FALSE(router.join(1));
  EXPECT_EQ(router.place({"mt"}), 0U);
  router.leave(0);
  EXPECT_TRUE(router.join(1));
  EXPECT_EQ(router.place({"mt"}), 1U);
}

}  // namespace
}  // namespace volvox
