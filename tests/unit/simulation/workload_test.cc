#include "simulation/workload.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace volvox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class WorkloadFiles : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  std::string file(const std::string& text) {
    std::ofstream(path_) << text;
    return path_;
  }
  const std::string path_ = ::testing::TempDir() + "workload_" +
                            std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
                            ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(WorkloadFiles, LengthsAloneOrBeforeATab) {
  const auto lengths = read_lengths(file("3\t4\n34\t40\r\n\n7\n"));
  ASSERT_TRUE(lengths) << lengths.error().message;
  EXPECT_THAT(*lengths, ElementsAre(3, 34, 7));
}

TEST_F(WorkloadFiles, BadLengthsNameTheLine) {
  for (const char* bad : {"1\n0\n", "1\n-4\n", "1\nseven\n", "1\n3x\n", "1\n99999999999\n"}) {
    const auto lengths = read_lengths(file(bad));
    ASSERT_FALSE(lengths) << bad;
    EXPECT_THAT(lengths.error().message, HasSubstr(":2: "));
  }
  EXPECT_FALSE(read_lengths(file("")));
  EXPECT_FALSE(read_lengths(path_ + ".not-there"));
}

TEST(Workload, TypicalLengthsHaveThePapersShape) {
  Chance chance(1);
  auto lengths = typical_lengths(20000, chance);
  const double mean = std::accumulate(lengths.begin(), lengths.end(), 0.0) / 20000;
  EXPECT_NEAR(mean, 24, 1);
  std::sort(lengths.begin(), lengths.end());
  EXPECT_NEAR(lengths[19800], 100, 10);
  EXPECT_GE(lengths.front(), 1U);
  EXPECT_LE(lengths.back(), 330U);
}

TEST(Workload, ParsesTrees) {
  const auto tree = parse_tree("(3 (2 (2 The) (2 Rock)) (4 .))");
  ASSERT_TRUE(tree) << tree.error().message;
  ASSERT_EQ(tree->nodes.size(), 5U);
  EXPECT_EQ(tree->nodes[2].left, 0U);
  EXPECT_EQ(tree->nodes[2].right, 1U);
  EXPECT_EQ(tree->nodes[4].left, 2U);
  EXPECT_EQ(tree->nodes[4].right, 3U);
  EXPECT_EQ(tree->nodes[3].left, Tree::kNone);
  EXPECT_EQ(parse_tree("(3 word)")->nodes.size(), 1U);
}

TEST(Workload, RefusesBadTrees) {
  for (const char* bad :
       {"", "word", "(3 (2 a)", "(3 a))", ")", "(3 (2 a) (2 b) (2 c))", "(3 (2 a))", "(1 a) (2 b)"}) {
    EXPECT_FALSE(parse_tree(bad)) << bad;
  }
}

TEST(Workload, ParsesLattices) {
  const auto lattice = parse_lattice(R"({"chars": 4, "words": [[0, 2], [1, 4]]})");
  ASSERT_TRUE(lattice) << lattice.error().message;
  EXPECT_EQ(lattice->chars, 4U);
  EXPECT_EQ(lattice->words.size(), 2U);
  EXPECT_TRUE(parse_lattice(R"({"chars": 4})"));
}

TEST(Workload, RefusesBadLattices) {
  for (const char* bad : {"", "{", "[]", "{}", R"({"chars": 0})", R"({"chars": -1})", R"({"chars": "4"})",
                          R"({"chars": 4, "words": [[0]]})", R"({"chars": 4, "words": [[2, 3]]})",
                          R"({"chars": 4, "words": [[3, 5]]})", R"({"chars": 4, "words": [["a", 2]]})",
                          R"({"chars": 4, "words": [[4294967295, 2]]})", R"({"chars": 4, "words": 5})"}) {
    EXPECT_FALSE(parse_lattice(bad)) << bad;
  }
}

TEST(Workload, TreesBecomeGraphs) {
  Chance chance(7);
  for (std::uint32_t leaves = 1; leaves < 40; ++leaves) {
    const auto graph = tree_graph(random_tree(leaves, chance), 4, 5);
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

TEST(Workload, LatticesBecomeGraphs) {
  const Lattice lattice{4, {{0, 2}, {1, 4}, {2, 4}}};
  const auto graph = lattice_graph(lattice, 0, 1);
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_EQ((*graph)->size(), 7U);
  const auto last = (*graph)->predecessors(6);
  ASSERT_EQ(last.size(), 3U) << "the character before, and two words that end there";
  EXPECT_EQ(last[0].gather, 0);
  EXPECT_EQ(last[1].gather, NodeGraph::kRagged);
  EXPECT_EQ((*graph)->node(last[1].node).type, 1U);
  Chance chance(3);
  for (std::uint32_t chars = 1; chars < 60; ++chars)
    EXPECT_TRUE(lattice_graph(random_lattice(chars, chance), 0, 1));
}

}  // namespace
}  // namespace volvox
