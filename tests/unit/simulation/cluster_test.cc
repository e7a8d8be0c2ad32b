#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "simulation/cluster_scenario.h"
#include "simulation/cluster_world.h"
#include "simulation/flow_node.h"
#include "simulation/scheduled_node.h"

namespace volvox {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TimePoint at(int us) {
  return TimePoint(microseconds(us));
}

TEST(FlowNode, ABatchAdvancesTogether) {
  FlowNode node(linear_cost(100, 10, 2), 2, 1);
  node.add({0, {}, 10}, at(0));
  EXPECT_EQ(node.next_end(), at(550)) << "ten tasks of one row, at twice the speed";
  node.add({0, {}, 2}, at(55));
  EXPECT_NEAR(node.cells_left(at(55)), 11, 1e-9);
  EXPECT_EQ(node.next_end(), at(55 + 120)) << "two tasks of two rows";
  node.add({0, {}, 5}, at(55));
  EXPECT_EQ(node.waiting(), 1U);
  std::vector<SimRequest> done;
  node.finished(at(175), done);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].cells, 2U);
  EXPECT_EQ(node.waiting(), 0U) << "the next one took its place";
  EXPECT_NEAR(node.cells_left(at(175)), 7 + 5, 1e-9);
}

TEST(FlowNode, KnowsWhoseItsWorkIs) {
  FlowNode node(linear_cost(100, 0, 8), 1, 2);
  node.add({0, {}, 10}, at(0));
  node.add({1, {}, 4}, at(0));
  EXPECT_NEAR(node.cells_of_others(0, at(100)), 3, 1e-9);
  EXPECT_NEAR(node.cells_of_others(1, at(100)), 9, 1e-9);
  EXPECT_EQ(node.rows_of_others(0), 1U);
  node.clear(at(100));
  EXPECT_EQ(node.cells_left(at(200)), 0);
}

TEST(ScheduledNode, RunsEveryTask) {
  ScheduledNode node(linear_cost(100, 10, 2), 2, 2);
  node.add({0, {}, 3}, at(0));
  EXPECT_EQ(node.next_end(), at(55)) << "a task of one row, at twice the speed";
  std::vector<SimRequest> done;
  node.finished(at(55), done);
  EXPECT_NEAR(node.cells_left(at(55)), 2, 1e-9);
  EXPECT_NEAR(node.cells_of_others(1, at(55)), 3, 1e-9);
  EXPECT_EQ(node.rows_of_others(0), 0U);
  while (const auto next = node.next_end()) node.finished(*next, done);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(node.tasks(), 3U);
  EXPECT_NEAR(node.cells_left(at(165)), 0, 1e-9);
}

TEST(ScheduledNode, BatchesAndDrainsWhatever) {
  ScheduledNode node(linear_cost(100, 1, 8), 1, 3);
  std::vector<SimRequest> done;
  TimePoint now{};
  for (std::uint32_t i = 0; i < 300; ++i) {
    node.add({i % 3, {}, 1 + i % 17}, now);
    now += microseconds(37);
    node.finished(now, done);
  }
  while (const auto next = node.next_end()) node.finished(*next, done);
  EXPECT_EQ(done.size(), 300U);
  EXPECT_EQ(node.cells_left(now), 0);
  EXPECT_EQ(node.rows_of_others(0), 0U);
  node.add({0, {}, 5}, now);
  node.clear(now);
  EXPECT_FALSE(node.next_end());
  EXPECT_EQ(node.cells_of_others(1, now), 0);
}

ClusterScenario small() {
  ClusterScenario scenario;
  scenario.nodes = 40;
  scenario.routers = 4;
  scenario.seconds = 6;
  scenario.warmup_s = 2;
  scenario.task_us = 2000;
  scenario.row_us = 25;
  scenario.max_rows = 512;
  scenario.utilisation = 0.8;
  scenario.models = 8;
  scenario.restart_s = 2;
  return scenario;
}

std::uint64_t refused_in_all(const ScenarioReport& report) {
  std::uint64_t refused = 0;
  for (const auto& [code, count] : report.refused) refused += count;
  return refused;
}

void expect_all_accounted(const ScenarioReport& report) {
  EXPECT_GT(report.completed, 0U);
  EXPECT_EQ(report.requests, report.completed + refused_in_all(report) + report.unfinished);
  EXPECT_EQ(report.twice, 0U);
}

double p99_over_mean(const ScenarioReport& report) {
  return to_json(report)["load_p99_over_mean"].get<double>();
}

TEST(ClusterWorld, TheSameSeedGivesTheSameBytes) {
  ClusterScenario scenario = small();
  scenario.churn_per_minute = 2;
  scenario.seconds = 3;
  scenario.warmup_s = 1;
  const std::string once = to_json(ClusterWorld(scenario).run()).dump();
  EXPECT_EQ(once, to_json(ClusterWorld(scenario).run()).dump());
  scenario.seed = 2;
  EXPECT_NE(once, to_json(ClusterWorld(scenario).run()).dump());
}

TEST(ClusterWorld, TheBetterOfTwoSpreadsBetterThanChance) {
  ClusterScenario scenario = small();
  const ScenarioReport balanced = ClusterWorld(scenario).run();
  scenario.placement = PlacementKind::kRandom;
  const ScenarioReport random = ClusterWorld(scenario).run();
  expect_all_accounted(balanced);
  expect_all_accounted(random);
  EXPECT_LT(p99_over_mean(balanced), 1.6);
  EXPECT_GT(p99_over_mean(random), 1.5 * p99_over_mean(balanced));
}

TEST(ClusterWorld, WhatADeadNodeHeldIsDoneElsewhere) {
  ClusterScenario scenario = small();
  scenario.churn_per_minute = 5;
  const ScenarioReport report = ClusterWorld(scenario).run();
  expect_all_accounted(report);
  EXPECT_GT(report.deaths, 5U);
  EXPECT_GT(report.retries, 1000U);
  // But for the few that met a death at each attempt.
  EXPECT_LT(refused_in_all(report), report.retries / 500) << to_text(report);
}

TEST(ClusterWorld, CutLinksHealAndNothingIsAnsweredTwice) {
  ClusterScenario scenario = small();
  scenario.partitions_per_minute = 100;
  scenario.partition_s = 1.5;
  scenario.stragglers = 0.1;
  scenario.wave = 0.3;
  scenario.wave_s = 3;
  const ScenarioReport report = ClusterWorld(scenario).run();
  expect_all_accounted(report);
  EXPECT_GT(report.suspicions, 0U);
  EXPECT_GT(report.rejoins, 0U);
  EXPECT_TRUE(report.refused.empty()) << to_text(report);
}

// The flow is a simplification of the scheduler: what placement sees of them must be alike.
TEST(ClusterWorld, TheSchedulerBearsTheFlowOut) {
  ClusterScenario scenario = small();
  scenario.nodes = 8;
  scenario.max_rows = 64;
  const auto flow = to_json(ClusterWorld(scenario).run());
  scenario.engine = SimEngine::kScheduler;
  const ScenarioReport report = ClusterWorld(scenario).run();
  const auto scheduled = to_json(report);
  expect_all_accounted(report);
  EXPECT_TRUE(report.refused.empty()) << to_text(report);
  const auto mean = [](const nlohmann::json& json, const char* key) {
    return json[key]["mean"].get<double>();
  };
  for (const char* key : {"latency_ms", "load_over_capacity_ms"})
    EXPECT_NEAR(mean(scheduled, key) / mean(flow, key), 1.0, 0.2) << key << flow << scheduled;
  EXPECT_EQ(scheduled.dump(), to_json(ClusterWorld(scenario).run()).dump())
      << "the same seed, the same bytes";
}

TEST(ClusterWorld, AnOverloadIsRefusedNotQueuedForEver) {
  ClusterScenario scenario = small();
  scenario.utilisation = 3;
  scenario.max_requests_per_node = 300;
  const ScenarioReport report = ClusterWorld(scenario).run();
  expect_all_accounted(report);
  EXPECT_GT(report.refused.at(ErrorCode::kOverloaded), 0U);
  EXPECT_LE(report.unfinished, 40U * 300U);
}

TEST(ClusterScenario, IsReadAndChecked) {
  const auto read = parse_scenario("nodes = 7\nspeeds = [1, 2.5]\nplacement = 'pack'\nseed = 9", "x.toml");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->nodes, 7U);
  EXPECT_EQ(read->speeds, (std::vector<double>{1, 2.5}));
  EXPECT_EQ(read->placement, PlacementKind::kPack);
  EXPECT_EQ(read->seed, 9U);
  EXPECT_EQ(read->routers, 8U);
  const auto error = [](std::string_view text) { return parse_scenario(text, "x.toml").error().message; };
  EXPECT_EQ(error("\nnodse = 7"), "x.toml:2: nodse: is unknown");
  EXPECT_EQ(error("nodes = 0"), "x.toml:1: nodes: must be between 1 and 100000");
  EXPECT_EQ(error("nodes = 'a'"), "x.toml:1: nodes: must be a number");
  EXPECT_EQ(error("placement = 'best'"), "x.toml:1: placement: must be balance, pack or random");
  EXPECT_EQ(parse_scenario("engine = 'scheduler'", "x.toml")->engine, SimEngine::kScheduler);
  EXPECT_EQ(parse_scenario("costs = [[1, 90], [64, 200.5]]", "x.toml")->costs.back().us, 200.5);
  EXPECT_EQ(error("engine = 'steam'"), "x.toml:1: engine: must be flow or scheduler");
  for (const char* costs :
       {"3", "[]", "[1]", "[[1]]", "[[1, 0]]", "[[0, 1]]", "[[2, 5], [1, 9]]", "[['a', 1]]"})
    EXPECT_NE(error("costs = " + std::string(costs)).find("x.toml:1: costs: must be a list"),
              std::string::npos);
  EXPECT_NE(error("costs = [[1, 2]]\nrow_us = 3").find("x.toml:2: row_us"), std::string::npos);
  EXPECT_EQ(error("speeds = [0]"), "x.toml:1: speeds: must be a list of numbers between 0.001 and 1000");
  EXPECT_EQ(error("seconds = 1"), "x.toml: warmup_s must be less than seconds");
  EXPECT_FALSE(parse_scenario("nodes = = 1", "x.toml"));
  EXPECT_FALSE(load_scenario("no/such/file.toml"));
}

}  // namespace
}  // namespace volvox
