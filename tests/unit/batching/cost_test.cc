#include "batching/cost.h"

#include <gtest/gtest.h>

namespace volvox {
namespace {

TEST(TaskCost, InterpolatesBetweenMeasuredSizes) {
  TypeConfig type;
  EXPECT_DOUBLE_EQ(task_cost_us(type, 7), 7.0);
  type.costs = {{1, 10.0}, {11, 20.0}};
  EXPECT_DOUBLE_EQ(task_cost_us(type, 1), 10.0);
  EXPECT_DOUBLE_EQ(task_cost_us(type, 6), 15.0);
  EXPECT_DOUBLE_EQ(task_cost_us(type, 22), 40.0);
}

TEST(BatchSize, TakesEverythingWhereEverySizeIsSupported) {
  TypeConfig type;
  type.max_batch = 64;
  EXPECT_EQ(choose_batch_size(type, 70).rows, 64U);
  EXPECT_EQ(choose_batch_size(type, 37).padded, 37U);
}

TEST(BatchSize, PadsOrLeavesRowsBehindByCostOfAUsefulRow) {
  TypeConfig type;
  type.max_batch = 128;
  type.sizes = {64, 128};
  type.costs = {{64, 100.0}, {128, 105.0}};  // the large batch is nearly free
  EXPECT_EQ(choose_batch_size(type, 70).rows, 70U);
  EXPECT_EQ(choose_batch_size(type, 70).padded, 128U);
  type.costs = {{64, 100.0}, {128, 200.0}};  // padding costs as much as work
  EXPECT_EQ(choose_batch_size(type, 70).rows, 64U);
  EXPECT_EQ(choose_batch_size(type, 10).padded, 64U);
}

}  // namespace
}  // namespace volvox
