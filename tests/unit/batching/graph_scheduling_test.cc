#include <random>

#include "tests/unit/batching/driver.h"

namespace volvox::toy {
namespace {

Driver cellular_graphs(std::uint32_t max_batch, std::uint32_t max_tasks, std::uint32_t graph_slots) {
  const SchedulerConfig config = scheduler_config(max_batch, 1, max_tasks, {64, 64, graph_slots});
  return {config, make_cellular_policy(config), max_batch};
}

class Graphs : public ::testing::TestWithParam<int> {
 protected:
  NodeGraph make(std::mt19937_64& random) const {
    switch (GetParam()) {
      case 0:
        return random_tree(random, 16, true);
      case 1:
        return random_tree(random, 16, false);
      case 2:
        return random_lattice(random, 25);
      default:
        return random_dag(random, 30);
    }
  }
};

TEST_P(Graphs, EverythingIsSubmittedBeforeAnythingIsDone) {
  std::mt19937_64 random(3);
  Driver driver = cellular_graphs(8, 10000, 4096);
  std::size_t nodes = 0;
  for (std::uint64_t tag = 1; tag <= 5; ++tag) {
    const Request request = graph_request(tag, make(random));
    nodes += request.graph->size();
    driver.admit(request);
  }
  std::size_t rows = 0;
  for (const Task* task : driver.schedule(0)) rows += task->rows;
  EXPECT_EQ(rows, nodes);
  driver.run_to_the_end();
  driver.check();
}

TEST_P(Graphs, RunInTheLeastSlotsTheyNeed) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 50; ++round) {
    const Request request = graph_request(1, make(random));
    Driver driver = cellular_graphs(8, 2, request.graph->suffix_peak(0) + kReservedSlots);
    ASSERT_EQ(driver.admit(request).kind, AdmitResult::Kind::kAdmitted);
    driver.run_to_the_end();
    ASSERT_EQ(driver.over().size(), 1U);
    driver.check();
  }
}

INSTANTIATE_TEST_SUITE_P(All, Graphs, ::testing::Range(0, 4));

// Characters in a row, each read by a label, which nothing reads.
NodeGraph labelled(std::uint32_t characters) {
  NodeGraph graph;
  for (std::uint32_t v = 0; v < characters; ++v) {
    const NodeGraph::Edge before{v - 1, 0};
    graph.add({kChar, v, v, false, false}, std::span(&before, v == 0 ? 0 : 1));
  }
  for (std::uint32_t v = 0; v < characters; ++v) {
    const NodeGraph::Edge character{v, NodeGraph::kRagged};
    graph.add({kAny, characters + v, characters + v, true, false}, {&character, 1});
  }
  return graph;
}

TEST(Labels, OfRequestsThatCameTogetherRunWhenAllAreThere) {
  SchedulerConfig config = scheduler_config(64, 1, 10000, {64, 64, 4096});
  config.types[kAny].is_read = false;
  Driver driver(config, make_cellular_policy(config), 64);
  for (std::uint64_t tag = 1; tag <= 4; ++tag) driver.admit(graph_request(tag, labelled(10)));
  const auto tasks = driver.schedule(0);
  ASSERT_EQ(tasks.size(), 11U);
  EXPECT_EQ(tasks.back()->type, static_cast<CellTypeId>(kAny));
  EXPECT_EQ(tasks.back()->rows, 40U);
  driver.run_to_the_end();
  driver.check();
}

// A node with four listed predecessors.
NodeGraph star() {
  NodeGraph graph;
  graph.pool = kGraphs;
  std::vector<NodeGraph::Edge> edges;
  for (std::uint32_t v = 0; v < 4; ++v)
    edges.push_back({graph.add({kAny, v, v, true, false}, {}), NodeGraph::kRagged});
  graph.add({kAny, 4, 4, true, false}, edges);
  EXPECT_TRUE(graph.finish());
  return graph;
}

TEST(Stars, NoTaskListsMorePredecessorsThanItMay) {
  SchedulerConfig config = scheduler_config(8, 1, 10000, {64, 64, 4096});
  config.types[kAny].max_edges = 7;  // those of one star, but not of two
  Driver driver(config, make_cellular_policy(config), 8);
  for (std::uint64_t tag = 1; tag <= 5; ++tag) driver.admit(graph_request(tag, star()));
  std::size_t rows = 0;
  for (const Task* task : driver.schedule(0)) {
    EXPECT_LE(task->edges.size(), 7U);
    rows += task->rows;
  }
  EXPECT_EQ(rows, 25U);
  driver.run_to_the_end();
  driver.check();
}

TEST(Trees, LeavesOfManyRequestsShareATask) {
  std::mt19937_64 random(1);
  Driver driver = cellular_graphs(64, 1, 4096);
  for (std::uint64_t tag = 1; tag <= 4; ++tag) driver.admit(graph_request(tag, random_tree(random, 8, true)));
  const auto tasks = driver.schedule(0);
  ASSERT_EQ(tasks.size(), 1U);
  EXPECT_EQ(tasks[0]->type, static_cast<CellTypeId>(kLeaf));
  EXPECT_EQ(tasks[0]->rows, 32U);
}

TEST(Trees, AWatchedNodeIsReported) {
  NodeGraph graph;
  graph.add({kLeaf, 0, 0, true, true}, {});
  Driver driver = cellular_graphs(4, 1, 64);
  driver.admit(graph_request(1, std::move(graph)));
  driver.schedule(0);
  driver.complete(0, 1);
  ASSERT_EQ(driver.steps().size(), 1U);
  EXPECT_EQ(driver.steps()[0].kind, Event::Kind::kNodeDone);
  EXPECT_EQ(driver.over().at(1), Event::Kind::kDone);
}

TEST(Growing, ARequestIsExtendedWhileItRuns) {
  std::mt19937_64 random(9);
  NodeGraph first;
  for (std::uint32_t v = 0; v < 3; ++v) {
    const NodeGraph::Edge edge{v - 1, NodeGraph::kRagged};
    first.add({kAny, v, v, false, v == 2}, v == 0 ? std::span<const NodeGraph::Edge>{} : std::span{&edge, 1});
  }
  NodeGraph grown = first;
  const NodeGraph::Edge edges[] = {{0, NodeGraph::kRagged}, {2, NodeGraph::kRagged}};
  grown.add({kAny, 3, 0, true, false}, edges);
  Request request = graph_request(1, first);
  request.max_nodes = 4;
  Driver driver = cellular_graphs(4, 3, 64);
  const AdmitResult admitted = driver.admit(request);
  driver.schedule(0);
  Request whole = graph_request(1, grown);
  ASSERT_TRUE(driver.scheduler().extend(admitted.id, {whole.graph}, driver.now()).has_value());
  EXPECT_FALSE(driver.scheduler().extend({77, 0}, {whole.graph}, driver.now()).has_value());
  driver.run_to_the_end();
  EXPECT_EQ(driver.over().at(1), Event::Kind::kDone);
  EXPECT_EQ(driver.device().outputs().at(whole.outputs[0].address), expected_outputs(whole).begin()->second);
}

TEST(Growing, RefusesToGrowPastItsBound) {
  NodeGraph graph;
  graph.add({kAny, 0, 0, false, false}, {});
  NodeGraph large = graph;
  large.add({kAny, 1, 0, false, false}, {});
  large.add({kAny, 2, 0, false, false}, {});
  Request request = graph_request(1, graph);
  request.max_nodes = 2;
  Driver driver = cellular_graphs(4, 1, 64);
  const AdmitResult admitted = driver.admit(request);
  const Request whole = graph_request(1, large);
  EXPECT_FALSE(driver.scheduler().extend(admitted.id, {whole.graph}, driver.now()).has_value());
}

}  // namespace
}  // namespace volvox::toy
