#include "cells/ir/node_graph.h"

#include <map>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace volvox {
namespace {

using Edge = NodeGraph::Edge;
using Node = NodeGraph::Node;

std::uint32_t add(NodeGraph& graph, std::vector<std::uint32_t> from) {
  std::vector<Edge> edges;
  for (std::uint32_t v : from) edges.push_back({v, NodeGraph::kRagged});
  return graph.add(Node{}, edges);
}

std::vector<std::uint32_t> numbers(std::span<const Edge> edges) {
  std::vector<std::uint32_t> nodes;
  for (const Edge& edge : edges) nodes.push_back(edge.node);
  return nodes;
}

// Slots live at once when `steps` run one after another, each a set of nodes: by the definition, with a set.
std::uint32_t peak_by_hand(const NodeGraph& graph, const std::vector<std::vector<std::uint32_t>>& steps,
                           std::size_t counted_from = 0) {
  std::map<std::uint32_t, std::size_t> unread;  // live node -> readers that have not run
  std::size_t peak = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (std::uint32_t v : steps[i]) unread[v] = graph.successors(v).size();
    if (i >= counted_from) peak = std::max(peak, unread.size());
    for (std::uint32_t v : steps[i]) {
      for (const Edge& edge : graph.predecessors(v)) --unread[edge.node];
    }
    std::erase_if(unread, [](const auto& entry) { return entry.second == 0; });
  }
  return static_cast<std::uint32_t>(peak);
}

std::vector<std::vector<std::uint32_t>> levels(const NodeGraph& graph) {
  std::vector<std::size_t> depth(graph.size());
  std::vector<std::vector<std::uint32_t>> result;
  for (std::uint32_t v = 0; v < graph.size(); ++v) {
    for (const Edge& edge : graph.predecessors(v)) depth[v] = std::max(depth[v], depth[edge.node] + 1);
    if (result.size() <= depth[v]) result.resize(depth[v] + 1);
    result[depth[v]].push_back(v);
  }
  return result;
}

void expect_counts(const NodeGraph& graph) {
  std::vector<std::vector<std::uint32_t>> one_by_one;
  for (std::uint32_t v = 0; v < graph.size(); ++v) one_by_one.push_back({v});
  for (std::uint32_t v = 0; v < graph.size(); ++v) {
    ASSERT_EQ(graph.suffix_peak(v), peak_by_hand(graph, one_by_one, v)) << "node " << v;
  }
  EXPECT_EQ(graph.suffix_peak(graph.size()), 0U);
  EXPECT_EQ(graph.wanted_slots(), std::max(peak_by_hand(graph, levels(graph)), graph.suffix_peak(0)));
  std::multiset<std::pair<std::uint32_t, std::uint32_t>> forward, backward;
  for (std::uint32_t v = 0; v < graph.size(); ++v) {
    for (const Edge& edge : graph.predecessors(v)) forward.emplace(edge.node, v);
    const std::vector<std::uint32_t> readers = numbers(graph.successors(v));
    for (std::uint32_t reader : readers) backward.emplace(v, reader);
    EXPECT_TRUE(std::is_sorted(readers.begin(), readers.end()));
  }
  EXPECT_EQ(forward, backward);
}

TEST(NodeGraph, ChainNeedsTwoSlots) {
  NodeGraph graph;
  add(graph, {});
  for (std::uint32_t v = 1; v < 10; ++v) add(graph, {v - 1});
  ASSERT_TRUE(graph.finish());
  EXPECT_EQ(graph.suffix_peak(0), 2U);
  EXPECT_EQ(graph.suffix_peak(9), 2U);
  EXPECT_EQ(graph.wanted_slots(), 2U);
  expect_counts(graph);
}

TEST(NodeGraph, SingleNodeNeedsOneSlot) {
  NodeGraph graph;
  EXPECT_EQ(graph.add(Node{.type = 3, .pull_row = 7, .push = true}, {}), 0U);
  ASSERT_TRUE(graph.finish());
  EXPECT_EQ(graph.node(0).type, 3U);
  EXPECT_EQ(graph.node(0).pull_row, 7U);
  EXPECT_EQ(graph.suffix_peak(0), 1U);
  EXPECT_EQ(graph.wanted_slots(), 1U);
}

TEST(NodeGraph, TreeWithLeavesFirstNeedsLeavesPlusOne) {
  NodeGraph graph;
  for (int leaf = 0; leaf < 8; ++leaf) add(graph, {});
  std::vector<std::uint32_t> open{0, 1, 2, 3, 4, 5, 6, 7};
  while (open.size() > 1) {
    std::vector<std::uint32_t> next;
    for (std::size_t i = 0; i < open.size(); i += 2) next.push_back(add(graph, {open[i], open[i + 1]}));
    open = next;
  }
  ASSERT_TRUE(graph.finish());
  EXPECT_EQ(graph.suffix_peak(0), 9U);
  EXPECT_EQ(graph.wanted_slots(), 12U);  // the eight leaves and the level above them
  expect_counts(graph);
}

TEST(NodeGraph, TreeInPostorderNeedsItsHeight) {
  NodeGraph graph;
  const auto tree = [&](auto&& self, int height) -> std::uint32_t {
    if (height == 0) return add(graph, {});
    const std::uint32_t left = self(self, height - 1);
    const std::uint32_t right = self(self, height - 1);
    return add(graph, {left, right});
  };
  tree(tree, 5);
  ASSERT_TRUE(graph.finish());
  EXPECT_EQ(graph.suffix_peak(0), 7U);  // one for each open level, and the node's own
  EXPECT_EQ(graph.wanted_slots(), 48U);
  expect_counts(graph);
}

TEST(NodeGraph, LatticeOfCharactersAndWords) {
  NodeGraph graph;
  std::mt19937 random(7);
  std::vector<std::uint32_t> characters;
  for (std::uint32_t i = 0; i < 40; ++i) {
    std::vector<std::uint32_t> from;
    if (i > 0) from.push_back(characters.back());
    for (std::uint32_t length = 2; length <= std::min<std::uint32_t>(i, 4); ++length) {
      if (random() % 2 == 0) from.push_back(add(graph, {characters[i - length]}));
    }
    characters.push_back(add(graph, from));
  }
  ASSERT_TRUE(graph.finish());
  expect_counts(graph);
}

TEST(NodeGraph, RandomGraphsAgreeWithTheDefinition) {
  std::mt19937 random(11);
  for (int run = 0; run < 300; ++run) {
    NodeGraph graph;
    const std::uint32_t nodes = 1 + random() % 60;
    const std::uint32_t most = 1 + random() % 5;
    for (std::uint32_t v = 0; v < nodes; ++v) {
      std::vector<std::uint32_t> from;
      const std::uint32_t fan_in = v == 0 ? 0 : random() % (most + 1);
      for (std::uint32_t i = 0; i < fan_in; ++i) from.push_back(random() % v);  // the same one may come twice
      add(graph, from);
    }
    ASSERT_TRUE(graph.finish());
    expect_counts(graph);
  }
}

// Two parts that are wide at different depths: level by level they are not wide together, in order they are.
TEST(NodeGraph, WantsNeverLessThanTheLeastReservation) {
  NodeGraph graph;
  std::uint32_t early = add(graph, {}), late = add(graph, {});
  for (int i = 0; i < 6; ++i) late = add(graph, {late});
  std::vector<std::uint32_t> wide_early, wide_late;
  for (int i = 0; i < 10; ++i) wide_early.push_back(add(graph, {early}));
  for (int i = 0; i < 10; ++i) wide_late.push_back(add(graph, {late}));
  add(graph, wide_early);
  add(graph, wide_late);
  ASSERT_TRUE(graph.finish());
  EXPECT_LT(peak_by_hand(graph, levels(graph)), graph.suffix_peak(0));
  EXPECT_EQ(graph.wanted_slots(), graph.suffix_peak(0));
}

TEST(NodeGraph, GrowsAndIsFinishedAgain) {
  NodeGraph graph;
  add(graph, {});
  ASSERT_TRUE(graph.finish());
  EXPECT_EQ(graph.suffix_peak(0), 1U);
  add(graph, {0});
  add(graph, {0, 1});
  ASSERT_TRUE(graph.finish());
  EXPECT_THAT(numbers(graph.successors(0)), testing::ElementsAre(1, 2));
  EXPECT_EQ(graph.suffix_peak(0), 3U);
}

void expect_refused(std::vector<Edge> edges, const char* why) {
  NodeGraph graph;
  add(graph, {});
  graph.add(Node{}, edges);
  const Status status = graph.finish();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(status.error().message, testing::HasSubstr("node 1"));
  EXPECT_THAT(status.error().message, testing::HasSubstr(why));
}

TEST(NodeGraph, RefusesWhatCannotRunAndNamesTheNode) {
  expect_refused({{1, NodeGraph::kRagged}}, "must stand before");
  expect_refused({{5, 0}}, "reads node 5");
  expect_refused({{0xFFFFFFFF, 0}}, "must stand before");
  expect_refused({{0x01000000, 0}}, "must stand before");
  expect_refused({{0, kMaxGathers}}, "gather 4 is out of range");
  expect_refused({{0, 2}, {0, 2}}, "gather 2 has two predecessors");
  EXPECT_FALSE(NodeGraph{}.finish());
}

TEST(NodeGraph, KeepsTheOrderOfPredecessors) {
  NodeGraph graph;
  for (int i = 0; i < 3; ++i) add(graph, {});
  add(graph, {2, 0, 1});
  ASSERT_TRUE(graph.finish());
  EXPECT_THAT(numbers(graph.predecessors(3)), testing::ElementsAre(2, 0, 1));
}

TEST(NodeGraph, ListsItsTypesInTheOrderOfTheirFirstNodes) {
  NodeGraph graph;
  graph.add(Node{.type = 5}, {});
  graph.add(Node{.type = 2}, {});
  const Edge edges[] = {{0, NodeGraph::kRagged}, {1, NodeGraph::kRagged}};
  graph.add(Node{.type = 5}, edges);
  graph.add(Node{.type = 2}, {});
  ASSERT_TRUE(graph.finish());
  EXPECT_THAT(graph.types(), testing::ElementsAre(5U, 2U));
  EXPECT_THAT(graph.sources(), testing::ElementsAre(1U, 2U));
  EXPECT_EQ(graph.type_index(2), 0U);
  EXPECT_EQ(graph.type_index(3), 1U);
}

}  // namespace
}  // namespace volvox
