#include "loadgen/plan/arrivals.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace volvox {
namespace {

using std::chrono::milliseconds;

TEST(Arrivals, ConstantGapsFromTheFirst) {
  ArrivalSchedule schedule(Arrivals::kConstant, 100.0, milliseconds(3), 1);
  for (int i = 0; i < 50; ++i) {
    EXPECT_NEAR(static_cast<double>(schedule.next().count()), 3e6 + 1e7 * i, 2.0) << i;
  }
}

TEST(Arrivals, PoissonHasTheRateAndTheSpread) {
  constexpr double kRate = 500.0;
  constexpr int kCount = 200000;
  ArrivalSchedule schedule(Arrivals::kPoisson, kRate, Duration(0), 7);
  double last = 0, sum = 0, squares = 0;
  for (int i = 0; i < kCount; ++i) {
    const auto at = static_cast<double>(schedule.next().count()) * 1e-9;
    const double gap = at - last;
    ASSERT_GE(gap, 0.0);
    sum += gap;
    squares += gap * gap;
    last = at;
  }
  const double mean = sum / kCount;
  EXPECT_NEAR(mean * kRate, 1.0, 0.01);
  // An exponential gap deviates by as much as its mean; a constant one would by nothing.
  EXPECT_NEAR(std::sqrt(squares / kCount - mean * mean) * kRate, 1.0, 0.02);
}

TEST(Arrivals, SeedsDecide) {
  ArrivalSchedule a(Arrivals::kPoisson, 10, Duration(0), 1), b(Arrivals::kPoisson, 10, Duration(0), 1),
      c(Arrivals::kPoisson, 10, Duration(0), 2);
  const Duration first = a.next();
  EXPECT_EQ(first, b.next());
  EXPECT_NE(first, c.next());
}

TEST(Arrivals, ATinyRateIsNeverDueRatherThanOverflowing) {
  ArrivalSchedule schedule(Arrivals::kConstant, 1e-12, Duration(0), 1);
  EXPECT_EQ(schedule.next(), Duration(0));
  EXPECT_GT(schedule.next(), std::chrono::hours(24 * 365 * 100));
}

}  // namespace
}  // namespace volvox
