#include "loadgen/plan/workload.h"

#include <gtest/gtest.h>

namespace volvox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kOne = "[[request]]\nmodel = 'm'\n";

Result<LoadWorkload> parse_text(const std::string& text) {
  LoadPlan otherwise;
  otherwise.rate = 7;
  otherwise.measured = seconds(10);
  otherwise.warmup = seconds(1);
  return parse_workload(text, "w.toml", "/where/it/lies", otherwise);
}

LoadPlan plan_with(const std::string& arrivals) {
  const auto workload = parse_text("[arrivals]\n" + arrivals + kOne);
  EXPECT_TRUE(workload.has_value()) << workload.error().message;
  return workload ? workload->plan : LoadPlan();
}

std::string complaint(const std::string& text) {
  const auto workload = parse_text(text);
  EXPECT_FALSE(workload.has_value()) << text;
  return workload ? "" : workload.error().message;
}

TEST(Workload, SaysWhoAsksWhat) {
  const auto workload = parse_text(R"(
[load]
seconds = 2.5
warmup = 0
connections = 4
requests = 100
seed = 9
timeout = 3
[arrivals]
kind = 'constant'
rate = 50
[[request]]
model = 'lstm'
version = 3
weight = 2.5
length = 24
priority = 'high=1,low=1'
deadline_ms = 50
[[request]]
model = 'tree'
trees = 'sst.txt'
input = 'words'
vocabulary = 77
cancel_fraction = 0.1
cancel_after_ms = 2
[[request]]
model = 'lattice'
lattices = 'random'
lengths = '/elsewhere/lengths.txt'
column = 'target'
sequences = 'steps,target'
)");
  ASSERT_TRUE(workload.has_value()) << workload.error().message;
  const LoadPlan& plan = workload->plan;
  EXPECT_EQ(plan.measured, milliseconds(2500));
  EXPECT_EQ(plan.warmup, Duration(0));
  EXPECT_EQ(plan.timeout, seconds(3));
  EXPECT_EQ(std::tie(plan.connections, plan.requests, plan.seed, plan.rate),
            std::make_tuple(4U, 100U, 9U, 50.0));
  EXPECT_EQ(plan.arrivals, Arrivals::kConstant);
  ASSERT_EQ(workload->requests.size(), 3U);
  const RequestWords &lstm = workload->requests[0], &tree = workload->requests[1],
                     &lattice = workload->requests[2];
  EXPECT_EQ(std::tie(lstm.model, lstm.version, lstm.weight, lstm.length, lstm.priority, lstm.deadline_ms),
            std::make_tuple("lstm", 3U, 2.5, 24U, "high=1,low=1", 50.0));
  EXPECT_EQ(std::tie(tree.trees, tree.input, tree.vocabulary, tree.cancel_fraction, tree.cancel_after_ms),
            std::make_tuple("/where/it/lies/sst.txt", "words", 77U, 0.1, 2.0));
  EXPECT_EQ(std::tie(lattice.lattices, lattice.lengths, lattice.column, lattice.sequences),
            std::make_tuple("random", "/elsewhere/lengths.txt", "target", "steps,target"));
}

TEST(Workload, WhatItDoesNotSayIsAsBefore) {
  const auto workload = parse_text(kOne);
  ASSERT_TRUE(workload.has_value()) << workload.error().message;
  EXPECT_EQ(workload->plan.rate, 7);
  EXPECT_EQ(workload->plan.measured, seconds(10));
  EXPECT_EQ(workload->requests.at(0).input, "tokens");
}

TEST(Workload, RequestsComeInSevenWays) {
  EXPECT_EQ(plan_with("kind = 'poisson'\nrate = 5\n").arrivals, Arrivals::kPoisson);
  const LoadPlan closed = plan_with("kind = 'closed'\nconcurrency = 12\n");
  EXPECT_EQ(closed.arrivals, Arrivals::kClosed);
  EXPECT_EQ(closed.concurrency, 12U);
  const LoadPlan bursts =
      plan_with("kind = 'bursts'\nrate = 90\non_seconds = 1\noff_rate = 10\noff_seconds = 3\n");
  EXPECT_EQ(bursts.arrivals, Arrivals::kCurve);
  EXPECT_EQ(bursts.rate, 1) << "the curve as it is";
  EXPECT_NEAR(bursts.curve->mean(), 30, 1e-9);
  const LoadPlan day = plan_with("kind = 'day'\nlow = 10\nhigh = 30\n");
  EXPECT_EQ(day.curve->period_s(), 86400);
  EXPECT_NEAR(day.curve->mean(), 20, 0.1);
  const LoadPlan curve = plan_with("kind = 'curve'\npoints = [[0, 1.5], [10, 20]]\n");
  EXPECT_EQ(curve.curve->points(), (std::vector<RatePoint>{{0, 1.5}, {10, 20}}));
  const auto trace =
      parse_text(std::string("[arrivals]\nkind = 'trace'\nfile = 't.csv'\nspeed = 2\n") + kOne);
  EXPECT_EQ(trace->plan.arrivals, Arrivals::kTrace);
  EXPECT_EQ(trace->trace, "/where/it/lies/t.csv");
  EXPECT_EQ(trace->speed, 2);
  EXPECT_EQ(trace->plan.measured, Duration(0)) << "all of it";
  EXPECT_EQ(trace->plan.warmup, Duration(0));
}

TEST(Workload, WhatIsWrongIsSaidWhereItStands) {
  const std::string one = kOne;
  EXPECT_NE(complaint("").find("request"), std::string::npos);
  EXPECT_NE(complaint("[[request]]\n").find("w.toml: request[0]: model"), std::string::npos);
  EXPECT_NE(complaint(one + one + "colour = 3\n").find("w.toml: request[1]: colour"), std::string::npos);
  EXPECT_NE(complaint(one + "weight = 0\n").find("weight"), std::string::npos);
  EXPECT_NE(complaint(one + "weight = nan\n").find("weight"), std::string::npos);
  EXPECT_NE(complaint(one + "model = 7\n").find("w.toml:3"), std::string::npos) << "said twice";
  EXPECT_NE(complaint(one + "length = 0\n").find("length"), std::string::npos);
  EXPECT_NE(complaint(one + "length = 2.5\n").find("length"), std::string::npos);
  EXPECT_NE(complaint(one + "length = 2\nlengths = 'x'\n").find("length"), std::string::npos);
  EXPECT_NE(complaint(one + "column = 'both'\n").find("column"), std::string::npos);
  EXPECT_NE(complaint(one + "cancel_fraction = 2\n").find("cancel_fraction"), std::string::npos);
  EXPECT_NE(complaint("[loda]\n" + one).find("w.toml: loda"), std::string::npos);
  EXPECT_NE(complaint("load = 3\n" + one).find("load"), std::string::npos);
  EXPECT_NE(complaint("request = 3\n").find("request"), std::string::npos);
  EXPECT_NE(complaint("request = [1]\n").find("request[0]"), std::string::npos);
  EXPECT_NE(complaint("[load]\nseconds = -1\n" + one).find("w.toml: load: seconds"), std::string::npos);
  EXPECT_NE(complaint("[load]\nconnections = 1000\n" + one).find("connections"), std::string::npos);
  for (const char* wrong :
       {"", "kind = 'sometimes'\n", "kind = 'poisson'\nconcurrency = 3\n", "kind = 'poisson'\nrate = 0\n",
        "kind = 'bursts'\nrate = 5\n", "kind = 'day'\nlow = 5\nhigh = 1\n", "kind = 'trace'\n",
        "kind = 'curve'\n", "kind = 'curve'\npoints = 3\n", "kind = 'curve'\npoints = [[0]]\n",
        "kind = 'curve'\npoints = [[0, 'x']]\n", "kind = 'curve'\npoints = [[1, 1], [2, 2]]\n"})
    EXPECT_NE(complaint(std::string("[arrivals]\n") + wrong + one).find("w.toml: arrivals"),
              std::string::npos)
        << wrong;
  for (const char* no_double : {"[9007199254740993, 1]", "[1, 9007199254740993]"}) {
    const std::string points = std::string("points = [[0, 1], ") + no_double + "]\n";
    EXPECT_NE(complaint("[arrivals]\nkind = 'curve'\n" + points + one).find("each is [seconds,"),
              std::string::npos)
        << no_double;
  }
}

}  // namespace
}  // namespace volvox
