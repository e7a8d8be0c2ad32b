#include "loadgen/plan/plan.h"

#include <algorithm>
#include <limits>
#include <set>

#include <gtest/gtest.h>

namespace volvox {
namespace {

using std::chrono::seconds;

LoadPlan good_plan() {
  LoadPlan plan;
  plan.rate = 100;
  plan.measured = seconds(1);
  return plan;
}

TEST(Plan, AGoodOneIsGood) {
  EXPECT_TRUE(check_plan(good_plan()).has_value());
  LoadPlan closed = good_plan();
  closed.arrivals = Arrivals::kClosed;
  closed.rate = 0;
  closed.concurrency = 64;
  EXPECT_TRUE(check_plan(closed).has_value());
}

TEST(Plan, WhatMakesNoSenseIsRefused) {
  const auto refused = [](auto change) {
    LoadPlan plan = good_plan();
    change(plan);
    const Status status = check_plan(plan);
    return !status && status.error().code == ErrorCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused([](LoadPlan& plan) { plan.rate = 0; }));
  EXPECT_TRUE(refused([](LoadPlan& plan) { plan.rate = -1; }));
  EXPECT_TRUE(refused([](LoadPlan& plan) { plan.rate = std::numeric_limits<double>::quiet_NaN(); }));
  EXPECT_TRUE(refused([](LoadPlan& plan) { plan.rate = 1e9; }));
  EXPECT_TRUE(refused([](LoadPlan& plan) { plan.connections = 0; }));
  EXPECT_TRUE(refused([](LoadPlan& plan) { plan.connections = 1000; }));
  EXPECT_TRUE(refused([](LoadPlan& plan) { plan.measured = seconds(0); }));
  EXPECT_TRUE(refused([](LoadPlan& plan) { plan.measured = seconds(-1); }));
  EXPECT_TRUE(refused([](LoadPlan& plan) { plan.timeout = seconds(0); }));
  EXPECT_TRUE(refused([](LoadPlan& plan) { plan.arrivals = Arrivals::kClosed; }));
}

TEST(Plan, DividesWithoutLoss) {
  LoadPlan plan = good_plan();
  plan.connections = 3;
  plan.requests = 10;
  plan.samples = 8;
  const auto parts = divide(plan);
  ASSERT_EQ(parts.size(), 3U);
  std::uint64_t requests = 0, samples = 0;
  double rate = 0;
  std::set<std::uint64_t> seeds, indices;
  for (const ConnectionPlan& part : parts) {
    requests += part.requests;
    samples += part.samples;
    rate += part.rate;
    seeds.insert(part.seed);
    for (std::uint64_t k = 0; k < part.requests; ++k) indices.insert(part.first_index + k * part.index_step);
  }
  EXPECT_EQ(requests, 10U);
  EXPECT_EQ(samples, 8U);
  EXPECT_DOUBLE_EQ(rate, 100.0);
  EXPECT_EQ(seeds.size(), 3U);
  EXPECT_EQ(indices.size(), 10U) << "no request number is used twice";
}

TEST(Plan, PartsOfOthersAreCheckedToo) {
  LoadPlan plan = good_plan();
  plan.connections = 3;
  const auto parts = divide(plan);
  EXPECT_TRUE(check_parts(parts).has_value());
  EXPECT_FALSE(check_parts({}).has_value());
  EXPECT_FALSE(check_parts(std::vector<ConnectionPlan>(1000, parts[0])).has_value());
  const auto refused = [&](auto change) {
    auto changed = parts;
    change(changed[1]);
    return !check_parts(changed);
  };
  EXPECT_TRUE(refused([](ConnectionPlan& part) { part.rate = -1; }));
  EXPECT_TRUE(refused([](ConnectionPlan& part) { part.timeout = seconds(0); }));
  EXPECT_TRUE(refused([](ConnectionPlan& part) { part.index_step = 0; }));
  EXPECT_TRUE(refused([](ConnectionPlan& part) { part.first = seconds(-1); }));
  EXPECT_TRUE(refused([](ConnectionPlan& part) { part.warmup = seconds(9); }));
  EXPECT_TRUE(refused([](ConnectionPlan& part) { part.requests = 9; }));
}

TEST(Plan, NoConnectionWithoutWork) {
  LoadPlan plan = good_plan();
  plan.arrivals = Arrivals::kClosed;
  plan.concurrency = 2;
  plan.connections = 8;
  const auto parts = divide(plan);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].concurrency + parts[1].concurrency, 2U);

  LoadPlan few = good_plan();
  few.connections = 8;
  few.requests = 3;
  EXPECT_EQ(divide(few).size(), 3U);
}

// Shifted constant schedules make one constant schedule.
TEST(Plan, ConstantStaysConstantOverConnections) {
  LoadPlan plan = good_plan();
  plan.arrivals = Arrivals::kConstant;
  plan.connections = 4;
  std::vector<double> times;
  for (const ConnectionPlan& part : divide(plan)) {
    ArrivalSchedule schedule(part.arrivals, part.rate, part.first, part.seed);
    for (int i = 0; i < 5; ++i) times.push_back(static_cast<double>(schedule.next().count()));
  }
  std::sort(times.begin(), times.end());
  for (std::size_t i = 0; i < times.size(); ++i) {
    EXPECT_NEAR(times[i], 1e7 * static_cast<double>(i), 5.0);
  }
}

}  // namespace
}  // namespace volvox
