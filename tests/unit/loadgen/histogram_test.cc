#include "loadgen/report/histogram.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "shapes/random.h"

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

// As machines do it: each sends what it counted, and all of it together is what one would have counted.
TEST(Histogram, ImagesOfSeveralMakeTheWhole) {
  DurationHistogram parts[3], whole, merged;
  SeededRandom random(7);
  std::vector<Duration::rep> values;
  for (std::size_t i = 0; i < 30000; ++i) {
    values.push_back(static_cast<Duration::rep>(random.exponential() * 2e6 * static_cast<double>(i % 3 + 1)));
    parts[i % 3].record(Duration(values.back()));
    whole.record(Duration(values.back()));
  }
  for (const DurationHistogram& part : parts) {
    const auto read = DurationHistogram::from_image(part.image());
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->image(), part.image());
    merged.merge(*read);
  }
  EXPECT_EQ(merged.image(), whole.image());
  EXPECT_EQ(merged.count(), 30000U);
  std::sort(values.begin(), values.end());
  for (const auto& [fraction, rank] : {std::pair(0.5, 15000), {0.9, 27000}, {0.99, 29700}}) {
    const auto exact = static_cast<double>(values[static_cast<std::size_t>(rank) - 1]);
    EXPECT_NEAR(static_cast<double>(merged.percentile(fraction).count()), exact, exact * 0.001);
  }
}

TEST(Histogram, AnImageThatNoneHasIsRefused) {
  DurationHistogram histogram;
  for (int i : {3, 5, 5, 4000}) histogram.record(Duration(i));
  const HistogramImage good = histogram.image();
  EXPECT_TRUE(DurationHistogram::from_image(good).has_value());
  EXPECT_TRUE(DurationHistogram::from_image({}).has_value());
  const auto refused = [&](auto change) {
    HistogramImage image = good;
    change(image);
    const auto read = DurationHistogram::from_image(image);
    return !read && read.error().code == ErrorCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused([](HistogramImage& image) { image.counts.pop_back(); }));
  EXPECT_TRUE(refused([](HistogramImage& image) { image.counts[0] = 0; }));
  EXPECT_TRUE(refused([](HistogramImage& image) { image.counts[0] = image.counts[1] = ~0ULL; }));
  EXPECT_TRUE(refused([](HistogramImage& image) { std::swap(image.buckets[0], image.buckets[1]); }));
  EXPECT_TRUE(refused([](HistogramImage& image) { image.buckets[1] = image.buckets[0]; }));
  EXPECT_TRUE(refused([](HistogramImage& image) { image.buckets[1] = ~0U; }));
  EXPECT_TRUE(refused([](HistogramImage& image) { image.buckets.back() = ~0U; }));
  EXPECT_TRUE(refused([](HistogramImage& image) { image.max_ns = 9000; }));
  EXPECT_TRUE(refused([](HistogramImage& image) { image = {.buckets = {}, .counts = {}, .max_ns = 1}; }));
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
