#include "actors/sessions/session_places.h"

#include <memory>
#include <new>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/base/failing_new.h"

namespace volvox {
namespace {

using test::FailingNew;
using testing::ElementsAre;

std::vector<std::uint32_t> all_of(SessionPlaces& places) {
  std::vector<PlacePtr> lent;
  std::vector<std::uint32_t> numbers;
  while (const PlacePtr place = places.take(places.count())) {
    numbers.push_back(*place);
    lent.push_back(place);
  }
  return numbers;
}

TEST(SessionPlaces, LendsTheHighestBelowALimitUntilTheLastHolderLetsGo) {
  const auto places = std::make_shared<SessionPlaces>(4);
  PlacePtr second = places->take(2);
  ASSERT_TRUE(second);
  EXPECT_EQ(*second, 1U);
  const PlacePtr first = places->take(2);
  ASSERT_TRUE(first);
  EXPECT_EQ(*first, 0U);
  EXPECT_FALSE(places->take(2)) << "two are left, for models with more places";
  PlacePtr task = second;
  second = nullptr;
  EXPECT_FALSE(places->take(2)) << "a task may still write there";
  task = nullptr;
  EXPECT_THAT(all_of(*places), ElementsAre(3, 2, 1));
}

TEST(SessionPlaces, NeedsMemoryToLendAndNoneToTakeBack) {
  if (!FailingNew::kWorks) GTEST_SKIP() << "memory does not fail in this build";
  const auto places = std::make_shared<SessionPlaces>(2);
  PlacePtr place;
  {
    const FailingNew failing(0);
    EXPECT_THROW(place = places->take(2), std::bad_alloc);
  }
  EXPECT_THAT(all_of(*places), ElementsAre(1, 0)) << "none is lost";
  place = places->take(2);
  ASSERT_TRUE(place);
  {
    const FailingNew failing(0);
    place = nullptr;
    EXPECT_FALSE(FailingNew::failed()) << "memory was asked for";
  }
  EXPECT_THAT(all_of(*places), ElementsAre(1, 0));
}

}  // namespace
}  // namespace volvox
