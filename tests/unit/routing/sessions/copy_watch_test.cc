#include "routing/sessions/copy_watch.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace volvox {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr milliseconds kCopyPatience{10};

TimePoint at_ms(int ms) {
  return TimePoint{} + milliseconds(ms);
}

SessionRef session(std::uint32_t index) {
  SessionRef ref;
  ref.index = index;
  return ref;
}

TEST(CopyWatch, ADeviceThatMakesOneAfterTheOtherDoesNotHang) {
  CopyWatch watch(1, kCopyPatience);
  EXPECT_EQ(watch.next(), std::nullopt);
  for (std::uint32_t i = 0; i < 5; ++i) watch.begun(0, session(i), at_ms(0));
  for (int i = 1; i <= 5; ++i) {
    EXPECT_EQ(watch.next(), at_ms(9 * (i - 1) + 10));
    EXPECT_THAT(watch.given_up(0, at_ms(9 * i)), IsEmpty()) << "its turn came when the one before had ended";
    EXPECT_FALSE(watch.ended(0, at_ms(9 * i)));
  }
  EXPECT_FALSE(watch.hangs(0));
  EXPECT_EQ(watch.next(), std::nullopt);
}

TEST(CopyWatch, OneThatHangsHoldsUpAllBehindItAndEachIsSaidOnce) {
  CopyWatch watch(2, kCopyPatience);
  watch.begun(1, session(7), at_ms(0));
  watch.begun(1, session(8), at_ms(4));
  EXPECT_THAT(watch.given_up(1, at_ms(9)), IsEmpty());
  EXPECT_THAT(watch.given_up(1, at_ms(10)), ElementsAre(session(7), session(8)));
  EXPECT_TRUE(watch.hangs(1));
  EXPECT_FALSE(watch.hangs(0));
  EXPECT_EQ(watch.next(), std::nullopt) << "all is said";
  watch.begun(1, session(9), at_ms(20));
  EXPECT_EQ(watch.next(), at_ms(10));
  EXPECT_THAT(watch.given_up(1, at_ms(20)), ElementsAre(session(9)));
  EXPECT_THAT(watch.given_up(1, at_ms(30)), IsEmpty());
  EXPECT_THAT(watch.given_up(0, at_ms(30)), IsEmpty());
}

TEST(CopyWatch, OneThatWasOnlySlowIsWellAgain) {
  CopyWatch watch(1, kCopyPatience);
  watch.begun(0, session(1), at_ms(0));
  watch.begun(0, session(2), at_ms(0));
  EXPECT_THAT(watch.given_up(0, at_ms(15)), ElementsAre(session(1), session(2)));
  watch.begun(0, session(3), at_ms(16));
  EXPECT_TRUE(watch.ended(0, at_ms(20)));
  EXPECT_FALSE(watch.hangs(0));
  EXPECT_FALSE(watch.ended(0, at_ms(21))) << "it did not hang any more";
  EXPECT_THAT(watch.given_up(0, at_ms(30)), IsEmpty());
  EXPECT_THAT(watch.given_up(0, at_ms(31)), ElementsAre(session(3)));
}

}  // namespace
}  // namespace volvox
