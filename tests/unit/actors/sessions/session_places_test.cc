#include "actors/sessions/session_places.h"

#include <memory>
#include <new>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/base/failing_new.h"

namespace volvox {
namespace {

using test::FailingNew;
using testing::ElementsAre;

std::vector<std::uint32_t> all_of(NumberLender& lender, std::uint32_t limit) {
  std::vector<LentNumber> lent;
  std::vector<std::uint32_t> numbers;
  while (const LentNumber number = lender.take(limit)) {
    numbers.push_back(*number);
    lent.push_back(number);
  }
  return numbers;
}

TEST(NumberLender, LendsTheHighestBelowALimitUntilTheLastHolderLetsGo) {
  const auto lender = std::make_shared<NumberLender>(4);
  LentNumber second = lender->take(2);
  ASSERT_TRUE(second);
  EXPECT_EQ(*second, 1U);
  const LentNumber first = lender->take(2);
  ASSERT_TRUE(first);
  EXPECT_EQ(*first, 0U);
  EXPECT_FALSE(lender->take(2)) << "two are left, for models with more places";
  LentNumber task = second;
  second = nullptr;
  EXPECT_FALSE(lender->take(2)) << "a task may still write there";
  task = nullptr;
  EXPECT_THAT(all_of(*lender, 4), ElementsAre(3, 2, 1));
}

TEST(NumberLender, LendsEachOfAnyCountOnce) {
  for (const std::uint32_t count : {0U, 1U, 63U, 64U, 65U, 128U, 200U}) {
    const auto lender = std::make_shared<NumberLender>(count);
    std::vector<std::uint32_t> all(count);
    std::iota(all.rbegin(), all.rend(), 0U);
    EXPECT_EQ(all_of(*lender, 1000), all) << count;
    EXPECT_EQ(all_of(*lender, count), all) << count << ", and all are back";
  }
}

TEST(NumberLender, NeedsMemoryToLendAndNoneToTakeBack) {
  if (!FailingNew::kWorks) GTEST_SKIP() << "memory does not fail in this build";
  const auto lender = std::make_shared<NumberLender>(2);
  LentNumber number;
  {
    const FailingNew failing(0);
    EXPECT_THROW(number = lender->take(2), std::bad_alloc);
  }
  EXPECT_THAT(all_of(*lender, 2), ElementsAre(1, 0)) << "none is lost";
  number = lender->take(2);
  ASSERT_TRUE(number);
  {
    const FailingNew failing(0);
    number = nullptr;
    EXPECT_FALSE(FailingNew::failed()) << "memory was asked for";
  }
  EXPECT_THAT(all_of(*lender, 2), ElementsAre(1, 0));
}

TEST(SessionPlaces, TheSlotsOfAnInstallationAreTheSameForWhoeverAsks) {
  SessionPlaces places(2);
  const LentNumber slot = places.slots_of(7, 2)->take(4);
  ASSERT_TRUE(slot);
  EXPECT_THAT(all_of(*places.slots_of(8, 2), 4), ElementsAre(3, 2, 1, 0)) << "another's are others";
  EXPECT_THAT(all_of(*places.slots_of(7, 2), 4), ElementsAre(2, 1, 0)) << "a task may still write one";
}

}  // namespace
}  // namespace volvox
