#include "loadgen/report/gaps.h"

#include <chrono>

#include <gtest/gtest.h>

namespace volvox {
namespace {

using std::chrono::microseconds;

TEST(SendGaps, SaysHowMuchMoreTheyVaryThanPlanned) {
  SendGaps gaps;
  EXPECT_EQ(gaps.variance_ratio(), 0.0);
  gaps.add(microseconds(10), microseconds(10));
  gaps.add(microseconds(30), microseconds(30));
  EXPECT_DOUBLE_EQ(gaps.variance_ratio(), 1.0);
  SendGaps hurried;  // 0 and 40 instead of 10 and 30: twice as far from their mean
  hurried.add(microseconds(10), microseconds(0));
  hurried.add(microseconds(30), microseconds(40));
  EXPECT_DOUBLE_EQ(hurried.variance_ratio(), 4.0);
  gaps.merge(hurried);
  EXPECT_EQ(gaps.count(), 4U);
  EXPECT_DOUBLE_EQ(gaps.variance_ratio(), 2.5);
}

TEST(SendGaps, EvenOnesHaveNoRatio) {
  SendGaps gaps;
  for (int i = 0; i < 1000; ++i) gaps.add(microseconds(333), microseconds(i));
  EXPECT_EQ(gaps.variance_ratio(), 0.0);
}

}  // namespace
}  // namespace volvox
