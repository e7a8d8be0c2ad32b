#include "routing/sessions/copy_watch.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace volvox {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr milliseconds kPatience{10};

TimePoint at(int ms) {
  return TimePoint{} + milliseconds(ms);
}

SessionRef session(std::uint32_t index) {
  SessionRef ref;
  ref.index = index;
  return ref;
}

TEST(CopyWatch, ADeviceThatMakesOneAfterTheOtherDoesNotHang) {
  CopyWatch watch(1, kPatience);
  EXPECT_EQ(watch.next(), std::nullopt);
  for (std::uint32_t i = 0; i < 5; ++i) watch.begun(0, session(i), at(0));
  for (int i = 1; i <= 5; ++i) {
    EXPECT_EQ(watch.next(), at(9 * (i - 1) + 10));
    EXPECT_THAT(watch.given_up(0, at(9 * i)), IsEmpty()) << "its turn came when the one before had ended";
    EXPECT_FALSE(watch.ended(0, at(9 * i)));
  }
  EXPECT_FALSE(watch.hangs(0));
  EXPECT_EQ(watch.next(), std::nullopt);
}

TEST(CopyWatch, OneThatHangsHoldsUpAllBehindItAndEachIsSaidOnce) {
  CopyWatch watch(2, kPatience);
  watch.begun(1, session(7), at(0));
  watch.begun(1, session(8), at(4));
  EXPECT_THAT(watch.given_up(1, at(9)), IsEmpty());
  EXPECT_THAT(watch.given_up(1, at(10)), ElementsAre(session(7), session(8)));
  EXPECT_TRUE(watch.hangs(1));
  EXPECT_FALSE(watch.hangs(0));
  EXPECT_EQ(watch.next(), std::nullopt) << "all is said";
  watch.begun(1, session(9), at(20));
  EXPECT_EQ(watch.next(), at(10));
  EXPECT_THAT(watch.given_up(1, at(20)), ElementsAre(session(9)));
  EXPECT_THAT(watch.given_up(1, at(30)), IsEmpty());
  EXPECT_THAT(watch.given_up(0, at(30)), IsEmpty());
}

TEST(CopyWatch, OneThatWasOnlySlowIsWellAgain) {
  CopyWatch watch(1, kPatience);
  watch.begun(0, session(1), at(0));
  watch.begun(0, session(2), at(0));
  EXPECT_THAT(watch.given_up(0, at(15)), ElementsAre(session(1), session(2)));
  watch.begun(0, session(3), at(16));
  EXPECT_TRUE(watch.ended(0, at(20)));
  EXPECT_FALSE(watch.hangs(0));
  EXPECT_FALSE(watch.ended(0, at(21))) << "it did not hang any more";
  EXPECT_THAT(watch.given_up(0, at(30)), IsEmpty());
  EXPECT_THAT(watch.given_up(0, at(31)), ElementsAre(session(3)));
}

}  // namespace
}  // namespace volvox
