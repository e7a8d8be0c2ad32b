#include "loadgen/agents/agent_limits.h"

#include <limits>

#include <gtest/gtest.h>

#include "loadgen/plan/plan.h"

namespace volvox {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

AgentLimits limits() {
  return {.targets = {"tcp://10.0.0.1:7100", "tcp://10.0.0.2:*"}, .highest_rate = 1000};
}

LoadPlan open_plan() {
  LoadPlan plan;
  plan.rate = 900;
  plan.connections = 3;
  plan.measured = seconds(10);
  return plan;
}

LoadPlan closed_plan() {
  LoadPlan plan = open_plan();
  plan.arrivals = Arrivals::kClosed;
  plan.rate = 0;
  plan.concurrency = 64;
  return plan;
}

LoadJob job_of(const LoadPlan& plan, std::string endpoint = "tcp://10.0.0.1:7100") {
  return {std::move(endpoint), RequestMix(1, {{{.model = "lstm"}, {1, LengthSource::fixed(2), 9}}}),
          divide(plan)};
}

bool refused(LoadJob job) {
  const Status status = admit_job(job, limits());
  return !status && status.error().code == ErrorCode::kPermissionDenied;
}

TEST(AgentLimits, WhatStaysWithinThemIsTakenAndHeldToTheRate) {
  LoadJob open = job_of(open_plan());
  ASSERT_TRUE(admit_job(open, limits()).has_value());
  for (const ConnectionPlan& part : open.parts) EXPECT_NEAR(part.highest_rate, 1000.0 / 3, 1e-6);
  LoadJob closed = job_of(closed_plan());
  ASSERT_TRUE(admit_job(closed, limits()).has_value());
  for (const ConnectionPlan& part : closed.parts) EXPECT_NEAR(part.highest_rate, 1000.0 / 3, 1e-6);
}

TEST(AgentLimits, OnlyTargetsOnTheListArePutUnderLoad) {
  EXPECT_FALSE(refused(job_of(open_plan(), "tcp://10.0.0.1:7100,tcp://10.0.0.2:1")));
  EXPECT_TRUE(refused(job_of(open_plan(), "tcp://10.0.0.1:7101")));
  EXPECT_TRUE(refused(job_of(open_plan(), "tcp://10.0.0.3:7100")));
  EXPECT_TRUE(refused(job_of(open_plan(), "tcp://10.0.0.1:7100,tcp://example.org:80")))
      << "one of them is not";
  EXPECT_TRUE(refused(job_of(open_plan(), "tcp://10.0.0.2.example.org:80")));
}

TEST(AgentLimits, EachOfThemIsKept) {
  const auto refuses = [](auto change, LoadPlan plan = open_plan()) {
    change(plan);
    return refused(job_of(plan));
  };
  EXPECT_FALSE(refuses([](LoadPlan&) {}));
  EXPECT_TRUE(refuses([](LoadPlan& plan) { plan.rate = 1001; }));
  EXPECT_TRUE(refuses([](LoadPlan& plan) { plan.connections = 65; }));
  EXPECT_TRUE(refuses([](LoadPlan& plan) { plan.measured = minutes(60) + seconds(1); }));
  EXPECT_TRUE(refuses([](LoadPlan& plan) { plan.warmup = minutes(60); }));
  EXPECT_TRUE(refuses([](LoadPlan& plan) { plan.timeout = minutes(6); }));
  EXPECT_TRUE(refuses([](LoadPlan& plan) { plan.samples = 100'001; }));
  EXPECT_TRUE(refuses([](LoadPlan& plan) { plan.concurrency = 4097; }, closed_plan()));
  const auto with_timeline = [](LoadPlan& plan) {
    plan.timeline = true;
    plan.measured = minutes(30);
  };
  EXPECT_TRUE(refuses(with_timeline));
  EXPECT_TRUE(refuses(with_timeline, closed_plan())) << "as many as its rate allows";
  const auto short_timeline = [](LoadPlan& plan) {
    plan.timeline = true;
    plan.connections = 64;
    plan.measured = minutes(10);
  };
  EXPECT_FALSE(refuses(short_timeline, closed_plan())) << "of all connections together";
}

TEST(AgentLimits, WhatEndsByItselfMayWaitForItsLastAnswers) {
  LoadPlan plan = open_plan();
  plan.warmup = seconds(1);
  plan.timeout = seconds(30);
  EXPECT_GT(longest_run(job_of(plan), limits()), seconds(41));
  EXPECT_LT(longest_run(job_of(plan), limits()), seconds(60));
  plan.measured = {};
  plan.requests = 10;
  EXPECT_EQ(longest_run(job_of(plan), limits()), limits().longest);
}

TEST(AgentLimits, OfACurveThePeakCounts) {
  LoadPlan plan = open_plan();
  plan.arrivals = Arrivals::kCurve;
  plan.rate = 1;
  plan.curve = std::make_shared<const RateCurve>(RateCurve::bursts(990, 1, 10, 9).value());
  EXPECT_FALSE(refused(job_of(plan)));
  plan.curve = std::make_shared<const RateCurve>(RateCurve::bursts(1010, 1, 10, 9).value());
  EXPECT_TRUE(refused(job_of(plan)));
}

TEST(AgentLimits, SomeMakeNoSense) {
  EXPECT_TRUE(check_limits(limits()).has_value());
  const auto refuses = [](auto change) {
    AgentLimits changed = limits();
    change(changed);
    return !check_limits(changed);
  };
  EXPECT_TRUE(refuses([](AgentLimits& of) { of.targets.clear(); }));
  EXPECT_TRUE(refuses([](AgentLimits& of) { of.targets = {"10.0.0.1:7100"}; }));
  EXPECT_TRUE(refuses([](AgentLimits& of) { of.targets = {"tcp://*"}; })) << "without a port";
  EXPECT_TRUE(refuses([](AgentLimits& of) { of.highest_rate = 0; }));
  EXPECT_TRUE(refuses([](AgentLimits& of) { of.highest_rate = std::numeric_limits<double>::infinity(); }));
  EXPECT_TRUE(refuses([](AgentLimits& of) { of.connections = 0; }));
  EXPECT_TRUE(refuses([](AgentLimits& of) { of.in_flight = 0; }));
  EXPECT_TRUE(refuses([](AgentLimits& of) { of.longest = Duration(0); }));
  EXPECT_TRUE(refuses([](AgentLimits& of) { of.patience = Duration(0); }));
}

}  // namespace
}  // namespace volvox
