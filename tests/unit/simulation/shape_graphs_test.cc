#include "simulation/shape_graphs.h"

#include <vector>

#include <gtest/gtest.h>

#include "shapes/trees.h"

namespace volvox {
namespace {

TEST(ShapeGraphs, TreesBecomeGraphs) {
  SeededRandom random(7);
  std::vector<std::int32_t> parents;
  for (std::uint32_t leaves = 1; leaves < 40; ++leaves) {
    TreeSource::random(LengthSource::fixed(leaves)).draw(random, parents);
    const auto graph = tree_graph(parents, 4, 5);
    ASSERT_TRUE(graph) << graph.error().message;
    ASSERT_EQ((*graph)->size(), 2 * leaves - 1);
    std::uint32_t pulled = 0;
    for (std::uint32_t v = 0; v < (*graph)->size(); ++v) {
      const bool leaf = (*graph)->predecessors(v).empty();
      EXPECT_EQ((*graph)->node(v).type, leaf ? 4U : 5U);
      pulled += leaf ? 1 : 0;
      EXPECT_EQ((*graph)->node(v).push, v + 1 == (*graph)->size());
    }
    EXPECT_EQ(pulled, leaves);
  }
}

TEST(ShapeGraphs, OtherTreesAreRefused) {
  for (const char* other : {"((a))", "((a) (b) (c))"})
    EXPECT_FALSE(tree_graph(*parse_tree(other), 4, 5)) << other;
}

TEST(ShapeGraphs, LatticesBecomeGraphs) {
  const LatticeShape lattice{4, {0, 1, 2}, {2, 4, 4}};
  const auto graph = lattice_graph(lattice, 0, 1);
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_EQ((*graph)->size(), 7U);
  const auto last = (*graph)->predecessors(6);
  ASSERT_EQ(last.size(), 3U) << "the character before, and two words that end there";
  EXPECT_EQ(last[0].gather, 0);
  EXPECT_EQ(last[1].gather, NodeGraph::kRagged);
  EXPECT_EQ((*graph)->node(last[1].node).type, 1U);
  SeededRandom random(3);
  for (std::uint32_t chars = 1; chars < 60; ++chars)
    EXPECT_TRUE(lattice_graph(LatticeSource::random(LengthSource::fixed(chars)).draw(random), 0, 1));
}

}  // namespace
}  // namespace volvox
