#include "serving/descriptor_budget.h"

#include <gtest/gtest.h>

namespace volvox {
namespace {

constexpr DoorBounds kWishes{10'000, 1024, 128, 0, 17};

TEST(DescriptorBudgetTest, WishesThatFitAreGranted) {
  EXPECT_EQ(split_descriptors(20'000, 64, kWishes), kWishes);
  EXPECT_EQ(split_descriptors(kWishes.sum() + 64, 64, kWishes), kWishes);
}

TEST(DescriptorBudgetTest, StrangersGiveWayInProportion) {
  const DoorBounds bounds = split_descriptors(1024, 64, kWishes);
  EXPECT_EQ(bounds.monitor, kWishes.monitor);
  EXPECT_EQ(bounds.admin, kWishes.admin);
  EXPECT_LE(bounds.sum() + 64, 1024U);
  EXPECT_GT(bounds.sum() + 64, 1000U) << "nothing lies idle";
  EXPECT_NEAR(static_cast<double>(bounds.clients) / static_cast<double>(bounds.http), 10'000.0 / 1024, 0.5);
}

TEST(DescriptorBudgetTest, WhateverTheLimitTheSumFits) {
  for (std::uint64_t limit = 128; limit < 12'000; ++limit) {
    const DoorBounds bounds = split_descriptors(limit, 64, kWishes);
    ASSERT_LE(bounds.sum() + 64, limit) << limit;
    ASSERT_GE(bounds.clients, 4U) << limit;
    ASSERT_GE(bounds.http, 4U) << limit;
    ASSERT_GE(bounds.monitor, 8U) << limit;
    ASSERT_GE(bounds.admin, 4U) << limit;
    ASSERT_EQ(bounds.cluster, 0U) << "there is no such door";
  }
}

TEST(DescriptorBudgetTest, ALimitThatIsFarTooLowLeavesEachDoorAFew) {
  const DoorBounds bounds = split_descriptors(32, 64, kWishes);
  EXPECT_EQ(bounds.clients, 4U);
  EXPECT_EQ(bounds.cluster, 0U);
  EXPECT_EQ(bounds.http, 4U);
}

}  // namespace
}  // namespace volvox
