#include "loadgen/report/histogram.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "loadgen/requests/random.h"

namespace volvox {
namespace {

TEST(Histogram, EmptyIsZero) {
  const DurationHistogram histogram;
  EXPECT_EQ(histogram.percentile(0.99), Duration(0));
  EXPECT_EQ(histogram.max(), Duration(0));
}

TEST(Histogram, SmallValuesAreExact) {
  DurationHistogram histogram;
  for (int i = 1; i <= 1000; ++i) histogram.record(Duration(i));
  EXPECT_EQ(histogram.percentile(0.5), Duration(500));
  EXPECT_EQ(histogram.percentile(0.9), Duration(900));
  EXPECT_EQ(histogram.percentile(0.999), Duration(999));
  EXPECT_EQ(histogram.percentile(1.0), Duration(1000));
  EXPECT_EQ(histogram.percentile(0.0), Duration(1));
}

TEST(Histogram, NeverUnderstatesNorOverstatesByMoreThanAThousandth) {
  DurationHistogram histogram;
  SeededRandom random(3);
  std::vector<Duration::rep> values;
  for (int i = 0; i < 20000; ++i) {
    values.push_back(static_cast<Duration::rep>(random.next() >> (24 + random.below(38))));
    histogram.record(Duration(values.back()));
  }
  std::sort(values.begin(), values.end());
  for (int permille = 1; permille <= 1000; ++permille) {
    const auto exact = static_cast<double>(values[static_cast<std::size_t>(permille) * 20 - 1]);
    const auto told = static_cast<double>(histogram.percentile(permille * 1e-3).count());
    EXPECT_GE(told, exact) << permille;
    EXPECT_LE(told, exact * 1.001) << permille;
  }
  EXPECT_EQ(histogram.max(), Duration(values.back()));
}

TEST(Histogram, MergedEqualsRecordedTogether) {
  DurationHistogram a, b, both;
  SeededRandom random(5);
  for (int i = 0; i < 3000; ++i) {
    const Duration value(static_cast<Duration::rep>(random.below(1ULL << 33)));
    (i % 3 == 0 ? a : b).record(value);
    both.record(value);
  }
  a.merge(b);
  EXPECT_EQ(a.count(), both.count());
  EXPECT_EQ(a.max(), both.max());
  for (const double fraction : {0.1, 0.5, 0.9, 0.99}) {
    EXPECT_EQ(a.percentile(fraction), both.percentile(fraction));
  }
}

TEST(Histogram, TakesWhatTimeCannotBe) {
  DurationHistogram histogram;
  histogram.record(Duration(-5));
  histogram.record(std::chrono::hours(24 * 365));
  EXPECT_EQ(histogram.count(), 2U);
  EXPECT_EQ(histogram.percentile(0.5), Duration(0));
  EXPECT_EQ(histogram.max(), std::chrono::hours(24 * 365));
}

}  // namespace
}  // namespace volvox
