#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "batching/policy/request_depths.h"
#include "tests/unit/batching/driver.h"

namespace volvox::toy {
namespace {

using MakePolicy = std::unique_ptr<Policy> (*)(const SchedulerConfig&, std::uint32_t);

Driver driver_of(MakePolicy make, std::uint32_t window, std::uint32_t max_batch = 64,
                 std::uint32_t workers = 1) {
  const SchedulerConfig config = scheduler_config(max_batch, workers, 1, {4096, 4096, 4096});
  return {config, make(config, window), max_batch};
}

// Runs all on one worker; the tasks, by their type.
std::vector<CellTypeId> run(Driver& driver) {
  std::vector<CellTypeId> types;
  for (int guard = 0; !driver.scheduler().idle() && guard < 10000; ++guard) {
    for (const Task* task : driver.schedule(0)) types.push_back(task->type);
    driver.complete(0, driver.in_flight(0));
  }
  EXPECT_TRUE(driver.scheduler().idle());
  driver.check();
  return types;
}

// In how many tasks of one type and one depth these requests run.
std::size_t levels(const std::vector<Request>& requests) {
  std::set<std::pair<CellTypeId, std::uint32_t>> found;
  std::vector<NodeDepth> depths;
  for (const Request& request : requests) {
    request_depths(request, depths);
    for (const NodeDepth& node : depths) found.emplace(node.type, node.depth);
  }
  return found.size();
}

TEST(RequestDepths, OfLanesAndGraphs) {
  std::vector<NodeDepth> depths;
  request_depths(lanes_request(1, seq2seq_plan(), 2, 3), depths);
  ASSERT_EQ(depths.size(), 5U);
  for (std::uint32_t node = 0; node < 5; ++node) {
    EXPECT_EQ(depths[node].type, node < 2 ? kEncoder : kDecoder);
    EXPECT_EQ(depths[node].depth, node);
  }
  NodeGraph graph;
  const NodeGraph::Edge joined[] = {{0, NodeGraph::kRagged}, {1, NodeGraph::kRagged}};
  graph.add({kAny, 0, 0, false, false}, {});
  graph.add({kAny, 1, 1, false, false}, std::span(joined).first(1));
  graph.add({kAny, 2, 2, true, false}, joined);
  request_depths(graph_request(2, std::move(graph)), depths);
  ASSERT_EQ(depths.size(), 3U);
  for (std::uint32_t node = 0; node < 3; ++node) EXPECT_EQ(depths[node].depth, node);
}

TEST(Depth, ATaskForEachTypeAndLevel) {
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<Request> requests;
    for (std::uint64_t tag = 1; tag <= 8; ++tag) {
      const auto size = static_cast<std::uint32_t>(1 + random() % 12);
      NodeGraph graph = trial % 2 == 0 ? random_lattice(random, size) : random_tree(random, size, true);
      requests.push_back(graph_request(tag, std::move(graph)));
    }
    Driver driver = driver_of(make_depth_policy, 8, 128);
    for (const Request& request : requests) driver.admit(request);
    EXPECT_EQ(run(driver).size(), levels(requests)) << "trial " << trial;
  }
}

// The shorter sentence is decoded while the longer one is read: two types at one depth.
TEST(Depth, LevelsKeepTypesApartThatAnAgendaMerges) {
  const std::vector<Request> requests = {lanes_request(1, seq2seq_plan(), 2, 3),
                                         lanes_request(2, seq2seq_plan(), 4, 3)};
  Driver by_depth = driver_of(make_depth_policy, 8), by_agenda = driver_of(make_agenda_policy, 8);
  for (const Request& request : requests) {
    by_depth.admit(request);
    by_agenda.admit(request);
  }
  EXPECT_EQ(levels(requests), 9U);
  EXPECT_EQ(run(by_depth).size(), 9U);
  const std::vector<CellTypeId> tasks = run(by_agenda);
  EXPECT_EQ(tasks.size(), 7U);
  EXPECT_TRUE(std::is_sorted(tasks.begin(), tasks.end())) << "all of the encoder first";
}

class Merged : public ::testing::TestWithParam<MakePolicy> {};
INSTANTIATE_TEST_SUITE_P(All, Merged, ::testing::Values(make_depth_policy, make_agenda_policy));

TEST_P(Merged, NobodyJoinsWhatRuns) {
  Driver driver = driver_of(GetParam(), 2);
  for (std::uint64_t tag = 1; tag <= 5; ++tag) driver.admit(lanes_request(tag, chain_plan(), 4));
  std::vector<std::uint32_t> rows;
  while (!driver.scheduler().idle() && rows.size() < 100) {
    for (const Task* task : driver.schedule(0)) rows.push_back(task->rows);
    driver.complete(0, driver.in_flight(0));
  }
  EXPECT_EQ(rows, (std::vector<std::uint32_t>{2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1}));
  driver.check();
}

TEST_P(Merged, AnIdleWorkerTakesWhoeverWaits) {
  Driver driver = driver_of(GetParam(), 8, 64, 2);
  driver.admit(lanes_request(1, chain_plan(), 3));
  EXPECT_EQ(driver.schedule(0).size(), 1U);
  driver.admit(lanes_request(2, chain_plan(), 3));
  EXPECT_EQ(driver.schedule(1).size(), 1U);
  driver.run_to_the_end();
  EXPECT_EQ(driver.over().size(), 2U);
}

TEST_P(Merged, NoTaskHasMoreRowsThanItsTypeAllows) {
  Driver driver = driver_of(GetParam(), 64, 4);
  std::mt19937_64 random(3);
  for (std::uint64_t tag = 1; tag <= 20; ++tag) {
    NodeGraph graph = random_tree(random, 6, true);
    driver.admit(graph_request(tag, std::move(graph)));
  }
  while (!driver.scheduler().idle()) {
    const auto formed = driver.schedule(0);
    ASSERT_EQ(formed.size(), 1U);
    EXPECT_LE(formed[0]->rows, 4U);
    driver.complete(0, 1);
  }
  EXPECT_EQ(driver.over().size(), 20U);
  driver.check();
}

TEST_P(Merged, ACancelledRequestWaitsNoLonger) {
  Driver driver = driver_of(GetParam(), 8);
  driver.admit(lanes_request(1, chain_plan(), 3));
  driver.cancel(1);
  EXPECT_EQ(driver.over().at(1), Event::Kind::kCancelled);
  EXPECT_TRUE(driver.schedule(0).empty());
  EXPECT_TRUE(driver.scheduler().idle());
}

}  // namespace
}  // namespace volvox::toy
