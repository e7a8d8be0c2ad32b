#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "simulation/cluster_scenario.h"
#include "simulation/cluster_world.h"
#include "simulation/sim_node.h"

namespace volvox {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TimePoint at(int us) {
  return TimePoint(microseconds(us));
}

TEST(SimNode, ABatchAdvancesTogether) {
  SimNode node({100, 10, 2}, 2, 1);
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

TEST(SimNode, KnowsWhoseItsWorkIs) {
  SimNode node({100, 0, 8}, 1, 2);
  node.add({0, {}, 10}, at(0));
  node.add({1, {}, 4}, at(0));
  EXPECT_NEAR(node.cells_of_others(0, at(100)), 3, 1e-9);
  EXPECT_NEAR(node.cells_of_others(1, at(100)), 9, 1e-9);
  EXPECT_EQ(node.rows_of_others(0), 1U);
  node.clear(at(100));
  EXPECT_EQ(node.cells_left(at(200)), 0);
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

void expect_all_accounted(const ClusterReport& report) {
  std::uint64_t refused = 0;
  for (const auto& [code, count] : report.refused) refused += count;
  EXPECT_GT(report.completed, 0U);
  EXPECT_EQ(report.requests, report.completed + refused + report.unfinished);
  EXPECT_EQ(report.twice, 0U);
}

double p99_over_mean(const ClusterReport& report) {
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
  const ClusterReport balanced = ClusterWorld(scenario).run();
  scenario.placement = PlacementKind::kRandom;
  const ClusterReport random = ClusterWorld(scenario).run();
  expect_all_accounted(balanced);
  expect_all_accounted(random);
  EXPECT_LT(p99_over_mean(balanced), 1.6);
  EXPECT_GT(p99_over_mean(random), 1.5 * p99_over_mean(balanced));
}

TEST(ClusterWorld, WhatADeadNodeHeldIsDoneElsewhere) {
  ClusterScenario scenario = small();
  scenario.churn_per_minute = 5;
  const ClusterReport report = ClusterWorld(scenario).run();
  expect_all_accounted(report);
  EXPECT_GT(report.deaths, 5U);
  EXPECT_GT(report.retries, report.deaths);
  EXPECT_TRUE(report.refused.empty()) << to_text(report);
}

TEST(ClusterWorld, CutLinksHealAndNothingIsAnsweredTwice) {
  ClusterScenario scenario = small();
  scenario.partitions_per_minute = 100;
  scenario.partition_s = 1.5;
  scenario.stragglers = 0.1;
  scenario.wave = 0.3;
  scenario.wave_s = 3;
  const ClusterReport report = ClusterWorld(scenario).run();
  expect_all_accounted(report);
  EXPECT_GT(report.suspicions, 0U);
  EXPECT_GT(report.rejoins, 0U);
  EXPECT_TRUE(report.refused.empty()) << to_text(report);
}

TEST(ClusterWorld, AnOverloadIsRefusedNotQueuedForEver) {
  ClusterScenario scenario = small();
  scenario.utilisation = 3;
  scenario.max_requests_per_node = 300;
  const ClusterReport report = ClusterWorld(scenario).run();
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
  EXPECT_EQ(error("speeds = [0]"), "x.toml:1: speeds: must be a list of numbers between 0.001 and 1000");
  EXPECT_EQ(error("seconds = 1"), "x.toml: warmup_s must be less than seconds");
  EXPECT_FALSE(parse_scenario("nodes = = 1", "x.toml"));
  EXPECT_FALSE(load_scenario("no/such/file.toml"));
}

}  // namespace
}  // namespace volvox
