#include "loadgen/plan/rate_curve.h"

#include <limits>

#include <gtest/gtest.h>

#include "loadgen/plan/arrivals.h"

namespace volvox {
namespace {

// How many requests of the schedule are due in [from, to) seconds.
int count_between(ArrivalSchedule schedule, double from, double to) {
  int count = 0;
  for (;;) {
    const double at = static_cast<double>(schedule.next().count()) * 1e-9;
    if (at >= to) return count;
    if (at >= from) ++count;
  }
}

ArrivalSchedule schedule_of(const Result<RateCurve>& curve, double part = 1, std::uint64_t seed = 3) {
  return {std::make_shared<const RateCurve>(curve.value()), part, seed};
}

TEST(RateCurve, BurstsComeAndGo) {
  const auto curve = RateCurve::bursts(1000, 2, 100, 8);
  EXPECT_EQ(curve->peak(), 1000);
  EXPECT_EQ(curve->period_s(), 10);
  EXPECT_NEAR(curve->mean(), 280, 1e-9);
  for (int period = 0; period < 3; ++period) {
    EXPECT_NEAR(count_between(schedule_of(curve), period * 10, period * 10 + 2), 2000, 180) << period;
    EXPECT_NEAR(count_between(schedule_of(curve), period * 10 + 2, period * 10 + 10), 800, 115) << period;
  }
}

TEST(RateCurve, NothingComesWhereTheRateIsZero) {
  const auto curve = RateCurve::bursts(500, 1, 0, 1);
  EXPECT_EQ(count_between(schedule_of(curve), 1.0 + 1e-9, 2.0), 0);
  EXPECT_NEAR(count_between(schedule_of(curve), 2.0, 3.0), 500, 90);
}

TEST(RateCurve, ADayRisesToItsMiddle) {
  const auto curve = RateCurve::day(100, 900, 40);
  EXPECT_NEAR(curve->mean(), 500, 1);
  EXPECT_NEAR(count_between(schedule_of(curve), 0, 2), 205, 60);
  EXPECT_NEAR(count_between(schedule_of(curve), 19, 21), 1800, 170);
  EXPECT_NEAR(count_between(schedule_of(curve), 59, 61), 1800, 170) << "the next day";
}

TEST(RateCurve, SlopesAreFollowedExactly) {
  const RateCurve curve = RateCurve::make({{0, 0}, {10, 20}}).value();  // t² requests by t seconds
  for (double t = 0.5; t < 10; t += 0.5) EXPECT_NEAR(curve.when(t * t), t, 1e-9);
  EXPECT_NEAR(curve.when(100 + 25), 15, 1e-9) << "and again";
}

TEST(RateCurve, PartsOfAPoissonProcessMakeTheWhole) {
  const auto curve = RateCurve::bursts(1000, 2, 100, 8);
  int sum = 0;
  for (std::uint64_t part = 0; part < 4; ++part)
    sum += count_between(schedule_of(curve, 0.25, part + 10), 0, 10);
  EXPECT_NEAR(sum, 2800, 220);
}

TEST(RateCurve, WhatIsNoCurveIsRefused) {
  EXPECT_TRUE(RateCurve::make({{0, 1}, {1, 1}}).has_value());
  EXPECT_FALSE(RateCurve::make({}).has_value());
  EXPECT_FALSE(RateCurve::make({{0, 1}}).has_value());
  EXPECT_FALSE(RateCurve::make({{1, 1}, {2, 1}}).has_value());
  EXPECT_FALSE(RateCurve::make({{0, 1}, {2, 1}, {1, 1}}).has_value());
  EXPECT_FALSE(RateCurve::make({{0, 1}, {1, -1}}).has_value());
  EXPECT_FALSE(RateCurve::make({{0, 1}, {1, 1e9}}).has_value());
  EXPECT_FALSE(RateCurve::make({{0, 0}, {1, 0}}).has_value());
  EXPECT_FALSE(RateCurve::make({{0, 5}, {0, 5}}).has_value());
  EXPECT_FALSE(RateCurve::make({{0, 1}, {std::numeric_limits<double>::quiet_NaN(), 1}}).has_value());
  EXPECT_FALSE(RateCurve::make({{0, std::numeric_limits<double>::infinity()}, {1, 1}}).has_value());
  EXPECT_FALSE(RateCurve::make(std::vector<RatePoint>(10'001, RatePoint{0, 1})).has_value());
  EXPECT_FALSE(RateCurve::bursts(100, 0, 0, 1).has_value());
  EXPECT_FALSE(RateCurve::bursts(0, 1, 0, 1).has_value());
  EXPECT_FALSE(RateCurve::day(10, 5, 1).has_value());
  EXPECT_FALSE(RateCurve::day(10, 50, 0).has_value());
}

}  // namespace
}  // namespace volvox
