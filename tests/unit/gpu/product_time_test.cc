#include "gpu/product_time.h"

#include <gtest/gtest.h>

#include "tests/unit/gpu/fake_driver.h"

namespace volvox::gpu {
namespace {

TEST(ProductTime, IsTakenOfNumbersAfterAFirstRun) {
  FakeDriver driver;
  const auto us = product_us(driver, {2, 8, 8, 8, 8, Precision::kBfloat16});
  ASSERT_TRUE(us) << us.error().message;
  EXPECT_EQ(driver.planned_on_zeros(), 0U);
}

TEST(ProductTime, LeavesNothingBehindWhenALaunchFails) {
  FakeDriver driver;
  driver.fail_captured_launch();
  EXPECT_FALSE(product_us(driver, {2, 8, 8, 8, 8, Precision::kBfloat16}));
  EXPECT_EQ(driver.live_graphs(), 0U);
  EXPECT_EQ(driver.live_allocations(), 0U);
}

}  // namespace
}  // namespace volvox::gpu
