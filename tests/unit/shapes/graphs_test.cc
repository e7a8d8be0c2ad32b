#include "shapes/graphs.h"

#include <array>
#include <set>

#include <gtest/gtest.h>

namespace volvox {
namespace {

TEST(GraphSource, NodesHaveTypesThatFit) {
  const std::vector<GraphCellType> types{{"leaf", true}, {"a", false, true}, {"b", false, true}};
  auto graphs = GraphSource::make(TreeSource::random(LengthSource::fixed(12)), types);
  ASSERT_TRUE(graphs) << graphs.error().message;
  SeededRandom random(5);
  std::set<std::int32_t> seen;
  for (int draw = 0; draw < 20; ++draw) {
    const GraphSource::Graph graph = graphs->draw(random);
    for (std::size_t node = 0; node < graph.types.size(); ++node) {
      const bool leaf = graph.offsets[node] == graph.offsets[node + 1];
      EXPECT_EQ(leaf, graph.types[node] == 0);
      seen.insert(graph.types[node]);
    }
  }
  EXPECT_EQ(seen, (std::set<std::int32_t>{0, 1, 2}));
  EXPECT_FALSE(GraphSource::make(TreeSource::random(LengthSource::fixed(2)), {{"leaf", true}}));
}

// As a char_tagger has them.
const std::vector<GraphCellType> kTextTypes{{.name = "character", .is_step = true},
                                            {.name = "ahead", .is_inner = true},
                                            {.name = "back", .is_inner = true},
                                            {.name = "label", .is_inner = true, .keeps_none = true}};

std::vector<std::int32_t> predecessors_of(const GraphSource::Graph& graph, std::size_t node) {
  return {graph.predecessors.begin() + graph.offsets[node],
          graph.predecessors.begin() + graph.offsets[node + 1]};
}

TEST(GraphSource, WithoutLeavesTheyAreTextsOfWords) {
  constexpr std::size_t kWords = 12;
  auto graphs = GraphSource::make(TreeSource::random(LengthSource::fixed(kWords)), kTextTypes);
  ASSERT_TRUE(graphs) << graphs.error().message;
  SeededRandom random(5);
  std::set<std::size_t> sizes;
  for (int draw = 0; draw < 20; ++draw) {
    const GraphSource::Graph graph = graphs->draw(random);
    EXPECT_EQ(size_of(graphs->structure(graph)), kWords);
    std::array<std::vector<std::size_t>, 4> nodes;
    for (std::size_t node = 0; node < graph.types.size(); ++node)
      nodes[static_cast<std::size_t>(graph.types[node])].push_back(node);
    sizes.insert(nodes[0].size());
    for (const std::size_t type : {1, 2, 3}) ASSERT_EQ(nodes[type].size(), kWords);
    for (std::size_t word = 0; word < kWords; ++word) {
      // The words behind each other, from either end, and what reads both.
      const std::size_t behind = kWords - 1 - word;
      const auto ahead = predecessors_of(graph, nodes[1][word]),
                 back = predecessors_of(graph, nodes[2][behind]);
      EXPECT_EQ(ahead.front(), back.front()) << "the word's last character";
      EXPECT_EQ(graph.types[static_cast<std::size_t>(ahead.front())], 0);
      ASSERT_EQ(ahead.size(), word == 0 ? 1U : 2U);
      ASSERT_EQ(back.size(), behind == 0 ? 1U : 2U);
      if (word > 0) {
        EXPECT_EQ(ahead[1], static_cast<std::int32_t>(nodes[1][word - 1]));
      }
      if (behind > 0) {
        EXPECT_EQ(back[1], static_cast<std::int32_t>(nodes[2][behind - 1]));
      }
      EXPECT_EQ(predecessors_of(graph, nodes[3][word]),
                (std::vector<std::int32_t>{static_cast<std::int32_t>(nodes[1][word]),
                                           static_cast<std::int32_t>(nodes[2][behind])}));
    }
  }
  EXPECT_GT(sizes.size(), 5U) << "words of several lengths";
  auto without = kTextTypes;
  without.pop_back();
  EXPECT_FALSE(GraphSource::make(TreeSource::random(LengthSource::fixed(2)), without));
}

}  // namespace
}  // namespace volvox
