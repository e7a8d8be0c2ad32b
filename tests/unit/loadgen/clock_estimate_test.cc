#include "loadgen/agents/clock_estimate.h"

#include <limits>

#include <gtest/gtest.h>

#include "shapes/random.h"

namespace volvox {
namespace {

constexpr std::int64_t kMs = 1'000'000;

// Exchanges over a network that takes its time, differently in the two directions.
class Machines {
 public:
  Machines(std::int64_t offset, double drift, std::uint64_t seed)
      : offset_(offset), drift_(drift), random_(seed) {}

  std::int64_t true_offset() const {
    return offset_ + static_cast<std::int64_t>(drift_ * static_cast<double>(now_));
  }
  std::int64_t now() const { return now_; }

  void exchange(ClockEstimate& estimate, std::int64_t there, std::int64_t back) {
    const std::int64_t asked = now_;
    now_ += there + jitter();
    const std::int64_t received = now_ + true_offset();
    now_ += jitter() / 10;
    const std::int64_t answered = now_ + true_offset();
    now_ += back + jitter();
    estimate.add(asked, received, answered, now_);
    now_ += 5 * kMs;
  }
  void pass(std::int64_t ns) { now_ += ns; }

 private:
  std::int64_t jitter() { return static_cast<std::int64_t>(random_.exponential() * 0.05 * kMs); }

  std::int64_t offset_;
  double drift_;
  SeededRandom random_;
  std::int64_t now_ = 1'000'000'000;
};

TEST(ClockEstimate, KnowsNothingBeforeTheFirstExchange) {
  EXPECT_FALSE(ClockEstimate().at(7).has_value());
}

TEST(ClockEstimate, TheBoundHoldsHoweverLopsidedTheNetworkIs) {
  SeededRandom random(11);
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const auto offset = static_cast<std::int64_t>(random.next() >> 8) - (std::int64_t{1} << 55);
    const double drift = (random.unit() - 0.5) * 300e-6;
    Machines machines(offset, drift, seed);
    ClockEstimate estimate;
    const auto there = static_cast<std::int64_t>(random.below(5 * kMs));
    const auto back = static_cast<std::int64_t>(random.below(5 * kMs));
    for (int i = 0; i < 16; ++i) machines.exchange(estimate, there, back);
    const auto told = estimate.at(machines.now());
    ASSERT_TRUE(told.has_value());
    EXPECT_LE(std::abs(told->ns - machines.true_offset()), told->bound_ns) << seed;
    EXPECT_LE(told->bound_ns, (there + back) / 2 + kMs / 4) << "and it is no idle bound";
    machines.pass(10'000 * kMs);
    const auto later = estimate.at(machines.now());
    EXPECT_LE(std::abs(later->ns - machines.true_offset()), later->bound_ns) << seed << ": ten seconds later";
    EXPECT_EQ(estimate.jumps(), 0U);
  }
}

TEST(ClockEstimate, MoreExchangesMakeItTighter) {
  Machines machines(42 * kMs, 0, 5);
  ClockEstimate once, often;
  machines.exchange(once, kMs, 2 * kMs);
  for (int i = 0; i < 16; ++i) machines.exchange(often, kMs, 2 * kMs);
  EXPECT_LT(often.at(machines.now())->bound_ns, once.at(machines.now())->bound_ns);
}

TEST(ClockEstimate, AClockThatIsSetBeginsAnew) {
  Machines before(0, 0, 5), after(500 * kMs, 0, 5);
  ClockEstimate estimate;
  for (int i = 0; i < 4; ++i) before.exchange(estimate, kMs, kMs);
  after.pass(before.now() - after.now());
  for (int i = 0; i < 4; ++i) after.exchange(estimate, kMs, kMs);
  EXPECT_EQ(estimate.jumps(), 1U);
  EXPECT_LE(std::abs(estimate.at(after.now())->ns - 500 * kMs), estimate.at(after.now())->bound_ns);
}

TEST(ClockEstimate, WhatNoClockSaysIsNotLookedAt) {
  ClockEstimate estimate;
  estimate.add(100, 50, 40, 200);  // answered before it was received
  estimate.add(100, 50, 60, 90);   // heard before it was asked
  estimate.add(100, 0, 500, 200);  // longer there than away
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  estimate.add(0, kNever, kNever, 0);
  EXPECT_FALSE(estimate.at(200).has_value());
}

}  // namespace
}  // namespace volvox
