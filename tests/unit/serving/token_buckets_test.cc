#include "serving/token_buckets.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "serving/retry_spread.h"

namespace volvox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(TokenBuckets, EachClientHasItsOwn) {
  TokenBuckets buckets({.per_second = 10, .burst = 3, .clients = 100});
  const TimePoint now{seconds(5)};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(buckets.take("a", now));
  EXPECT_FALSE(buckets.take("a", now));
  EXPECT_TRUE(buckets.take("b", now));
  EXPECT_FALSE(buckets.take("a", now + milliseconds(99)));
  EXPECT_TRUE(buckets.take("a", now + milliseconds(101)));
  EXPECT_FALSE(buckets.take("a", now + milliseconds(102)));
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(buckets.take("a", now + seconds(3600))) << "never more than the burst";
  EXPECT_FALSE(buckets.take("a", now + seconds(3600)));
}

TEST(TokenBuckets, TimeThatGoesBackGivesNothing) {
  TokenBuckets buckets({.per_second = 10, .burst = 1, .clients = 100});
  EXPECT_TRUE(buckets.take("a", TimePoint{seconds(5)}));
  EXPECT_FALSE(buckets.take("a", TimePoint{seconds(4)}));
  EXPECT_FALSE(buckets.take("a", TimePoint{seconds(5)}));
}

TEST(TokenBuckets, HoldsBoundedlyManyClients) {
  TokenBuckets buckets({.per_second = 1, .burst = 2, .clients = 10});
  TimePoint now{seconds(1)};
  for (int i = 0; i < 1000; ++i) buckets.take("client" + std::to_string(i), now);
  EXPECT_EQ(buckets.clients(), 10U);
  EXPECT_FALSE(buckets.take("another", now)) << "those beyond share one bucket";
  EXPECT_TRUE(buckets.take("client0", now)) << "and take nothing from the others";
  now += seconds(10);
  EXPECT_TRUE(buckets.take("another", now));
  EXPECT_EQ(buckets.clients(), 1U) << "full ones are forgotten";
}

// A thousand who are refused at once come back over a while, a tenth of them in each tenth of it.
TEST(RetrySpread, AHerdComesBackOneAfterTheOther) {
  constexpr std::uint64_t kAdvice = 100'000;
  std::vector<int> tenths(10, 0);
  for (std::uint64_t number = 7; number < 1007; ++number) {
    const std::uint64_t when = spread_retry_us(kAdvice, number);
    ASSERT_GE(when, kAdvice);
    ASSERT_LT(when, kAdvice + kAdvice / 2);
    ++tenths[(when - kAdvice) / (kAdvice / 20)];
  }
  EXPECT_GE(*std::min_element(tenths.begin(), tenths.end()), 90);
  EXPECT_LE(*std::max_element(tenths.begin(), tenths.end()), 110);
}

TEST(RetrySpread, ALongAdviceIsNotSpreadForEver) {
  EXPECT_EQ(spread_retry_us(0, 5), 0U);
  for (std::uint64_t number = 0; number < 1000; ++number)
    ASSERT_LT(spread_retry_us(3'600'000'000, number), 3'610'000'001U);
}

}  // namespace
}  // namespace volvox
