// Trees: what is one, and what it unfolds into.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cells/unfold/tree/tree_plan.h"
#include "tests/unit/cells/random_tree.h"

namespace volvox {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Parents = std::vector<std::int32_t>;

// Leaves of type 10, inner nodes of type 11, with a token at the leaves only.
TreePlan binary_plan(bool every) {
  TreePlan plan{.model = 3, .pool = 5, .leaf = 10, .inner = 11, .binary = true, .inner_pulls = false};
  plan.pushes[0] = {.output = 0, .every = every};
  return plan;
}

TreePlan any_plan() {
  TreePlan plan{.leaf = 4, .inner = 4, .max_children = 3};
  plan.pushes[0] = {.output = 0, .every = true};
  return plan;
}

std::string refusal(const TreePlan& plan, const Parents& parents) {
  const Status checked = check_tree(plan, parents);
  if (checked) return "";
  EXPECT_EQ(checked.error().code, ErrorCode::kInvalidArgument);
  return checked.error().message;
}

TEST(CheckTree, TakesWhatIsOneTree) {
  EXPECT_EQ(refusal(binary_plan(false), {-1}), "");
  EXPECT_EQ(refusal(binary_plan(false), {2, 2, -1}), "");
  EXPECT_EQ(refusal(binary_plan(false), {4, 3, 3, 4, -1}), "");
  EXPECT_EQ(refusal(any_plan(), {1, 2, -1}), "");
  EXPECT_EQ(refusal(any_plan(), {3, 3, 3, -1}), "");
}

TEST(CheckTree, SaysWhatIsNone) {
  const TreePlan plan = any_plan();
  EXPECT_THAT(refusal(plan, {}), HasSubstr("has no nodes"));
  EXPECT_THAT(refusal(plan, {-1, -1}), HasSubstr("several roots, nodes 0 and 1"));
  EXPECT_THAT(refusal(plan, {2, -1, -1}), HasSubstr("several roots, nodes 1 and 2"));
  EXPECT_THAT(refusal(plan, {0}), HasSubstr("the last node is the root"));
  EXPECT_THAT(refusal(plan, {1, 0}), HasSubstr("parent of the last node is 0"));
  EXPECT_THAT(refusal(plan, {0, -1}), HasSubstr("parent of node 0 is 0; it must be a later node"));
  EXPECT_THAT(refusal(plan, {2, -1}), HasSubstr("parent of node 0 is 2"));
  EXPECT_THAT(refusal(plan, {-2, -1}), HasSubstr("parent of node 0 is -2"));
  EXPECT_THAT(refusal(plan, {2, 0, -1}), HasSubstr("parent of node 1 is 0"));
}

TEST(CheckTree, SaysWhichNodeHasTooManyChildrenOrTooFew) {
  EXPECT_THAT(refusal(binary_plan(false), {1, -1}),
              HasSubstr("node 1 has 1 child; this model's trees are binary"));
  EXPECT_THAT(refusal(binary_plan(false), {3, 3, 3, -1}), HasSubstr("node 3 has 3 children"));
  EXPECT_THAT(refusal(any_plan(), {4, 4, 4, 4, -1}),
              HasSubstr("node 4 has 4 children; this model takes at most 3"));
}

TEST(UnfoldTree, ABinaryTreeHasTwoTypesAndNumberedChildren) {
  // 0 and 3 are the root's children, in this order; 1 and 2 those of 3.
  const auto graph = unfold_tree(binary_plan(false), Parents{4, 3, 3, 4, -1});
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->size(), 5U);
  EXPECT_EQ(graph->model, 3U);
  EXPECT_EQ(graph->pool, 5U);
  EXPECT_THAT(graph->types(), ElementsAre(10U, 11U));
  const auto root = graph->predecessors(4);
  ASSERT_EQ(root.size(), 2U);
  EXPECT_EQ(root[0].node, 0U);
  EXPECT_EQ(root[0].gather, 0);
  EXPECT_EQ(root[1].node, 3U);
  EXPECT_EQ(root[1].gather, 1);
  for (const std::uint32_t leaf : {0U, 1U, 2U}) EXPECT_EQ(graph->node(leaf).pull_row, leaf);
  EXPECT_EQ(graph->node(3).pull_row, NodeGraph::kNoRow);
  for (const std::uint32_t v : {0U, 1U, 2U, 3U}) EXPECT_FALSE(graph->node(v).push);
  EXPECT_TRUE(graph->node(4).push);
  EXPECT_EQ(graph->node(4).push_row, 0U) << "the root's row is the only one";
}

TEST(UnfoldTree, ListsAnyNumberOfChildrenInTheirOrder) {
  const auto graph = unfold_tree(any_plan(), Parents{4, 2, 4, 4, -1});
  ASSERT_TRUE(graph) << graph.error().message;
  std::vector<std::uint32_t> children;
  for (const NodeGraph::Edge& edge : graph->predecessors(4)) {
    EXPECT_EQ(edge.gather, NodeGraph::kRagged);
    children.push_back(edge.node);
  }
  EXPECT_THAT(children, ElementsAre(0U, 2U, 3U));
  for (std::uint32_t v = 0; v < graph->size(); ++v) {
    EXPECT_EQ(graph->node(v).pull_row, v);
    EXPECT_TRUE(graph->node(v).push);
    EXPECT_EQ(graph->node(v).push_row, v);
  }
}

TEST(UnfoldTree, WithoutOutputsNothingIsPushed) {
  TreePlan plan = any_plan();
  plan.pushes = {};
  const auto graph = unfold_tree(plan, Parents{2, 2, -1});
  ASSERT_TRUE(graph);
  for (std::uint32_t v = 0; v < graph->size(); ++v) EXPECT_FALSE(graph->node(v).push);
}

// No recursion: a tree as deep as it can be does no harm.
TEST(UnfoldTree, DepthCostsNothing) {
  Parents parents(1'000'000);
  for (std::size_t v = 0; v < parents.size(); ++v) parents[v] = static_cast<std::int32_t>(v) + 1;
  parents.back() = -1;
  ASSERT_EQ(refusal(any_plan(), parents), "");
  const auto graph = unfold_tree(any_plan(), parents);
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->suffix_peak(0), 2U);
}

TEST(UnfoldTree, RandomTreesKeepEveryEdge) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 200; ++round) {
    const Parents parents = random_parents(random, 1 + random() % 30, 1, 3);
    ASSERT_EQ(refusal(any_plan(), parents), "");
    const auto graph = unfold_tree(any_plan(), parents);
    ASSERT_TRUE(graph);
    for (std::uint32_t v = 0; v < graph->size(); ++v) {
      const auto readers = graph->successors(v);
      ASSERT_EQ(readers.size(), parents[v] < 0 ? 0U : 1U);
      if (readers.size() == 1) {
        EXPECT_EQ(readers[0].node, static_cast<std::uint32_t>(parents[v]));
      }
    }
  }
}

}  // namespace
}  // namespace volvox
