#include "loadgen/requests/lattices.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "loadgen/requests/request_source.h"

namespace volvox {
namespace {

using testing::HasSubstr;
using Ints = std::vector<std::int32_t>;

TEST(ParseLattice, ReadsCharactersAndWords) {
  EXPECT_EQ(parse_lattice(R"({"chars": 5, "words": [[0, 2], [1, 5]], "text": "x"})").value(),
            (LatticeShape{5, {0, 1}, {2, 5}}));
  EXPECT_EQ(parse_lattice(R"({"chars": 1, "words": []})").value(), (LatticeShape{1, {}, {}}));
}

TEST(ParseLattice, RefusesAllElse) {
  for (const char* line :
       {"", "[]", "{", "7", R"({"chars": 5})", R"({"words": []})", R"({"chars": 0, "words": []})",
        R"({"chars": -1, "words": []})", R"({"chars": 1048577, "words": []})",
        R"({"chars": 2.5, "words": []})", R"({"chars": 5, "words": 3})", R"({"chars": 5, "words": [3]})",
        R"({"chars": 5, "words": [[0, 1]]})", R"({"chars": 5, "words": [[3, 6]]})",
        R"({"chars": 5, "words": [[-1, 2]]})", R"({"chars": 5, "words": [[4, 2]]})",
        R"({"chars": 5, "words": [[0, 2, 3]]})", R"({"chars": 5, "words": [["a", 2]]})"})
    EXPECT_FALSE(parse_lattice(line)) << line;
}

TEST(LatticeSource, ErrorsNameTheLine) {
  const auto path = std::filesystem::temp_directory_path() / ("lattices" + std::to_string(getpid()));
  std::ofstream(path) << "{\"chars\": 3, \"words\": []}\nwrong\n";
  EXPECT_THAT(LatticeSource::from_file(path.string()).error().message, HasSubstr(":2: expected a lattice"));
  std::ofstream(path) << "{\"chars\": 3, \"words\": [[1, 3]]}\n";
  const auto source = LatticeSource::from_file(path.string());
  ASSERT_TRUE(source) << source.error().message;
  SeededRandom random(1);
  EXPECT_EQ(source->draw(random), (LatticeShape{3, {1}, {3}}));
  std::filesystem::remove(path);
  EXPECT_FALSE(LatticeSource::from_file(path.string()));
}

TEST(LatticeSource, RandomOnesAreWhole) {
  const auto source = LatticeSource::random(LengthSource::built_in());
  SeededRandom random(1);
  std::size_t words = 0, characters = 0;
  for (int i = 0; i < 300; ++i) {
    const LatticeShape lattice = source.draw(random);
    words += lattice.starts.size();
    characters += lattice.length;
    for (std::size_t word = 0; word < lattice.starts.size(); ++word) {
      EXPECT_GE(lattice.starts[word], 0);
      EXPECT_GE(lattice.ends[word], lattice.starts[word] + 2);
      EXPECT_LE(lattice.ends[word], lattice.starts[word] + 4);
      EXPECT_LE(lattice.ends[word], static_cast<std::int32_t>(lattice.length));
    }
  }
  EXPECT_NEAR(static_cast<double>(words) / static_cast<double>(characters), 0.48, 0.05);
}

TEST(RequestSource, ALatticeHasARowForEachCharacterAndForEachWord) {
  const RequestSource source(5, LatticeSource::random(LengthSource::fixed(40)), 7, {3});
  RequestContent content, again;
  source.make(1, content);
  source.make(2, again);
  source.make(1, again);
  EXPECT_EQ(content, again);
  ASSERT_EQ(content.more.size(), 1U);
  EXPECT_EQ(content.tokens.size(), 40U);
  EXPECT_EQ(content.more[0].size(), content.starts.size());
  EXPECT_LT(*std::max_element(content.more[0].begin(), content.more[0].end()), 3);
  ClientRequest request = request_with_inputs("m", "characters,words");
  fill_request(request, content);
  ASSERT_EQ(request.body.inputs.size(), 2U);
  EXPECT_EQ(request.body.inputs[1].name, "words");
  EXPECT_EQ(request.body.inputs[1].shape[0], static_cast<std::int64_t>(content.starts.size()));
  EXPECT_EQ(std::get<LatticeStructure>(request.body.structure).length, 40U);
}

TEST(RequestSource, SequencesHaveLengthsOfTheirOwn) {
  const SequencesSource sequences{LengthSource::built_in(), {"left", "right"}, {1, 0}};
  const RequestSource source(5, sequences, 7);
  RequestContent content;
  source.make(1, content);
  EXPECT_EQ(content.tokens.size(), static_cast<std::size_t>(content.lengths[1]));
  EXPECT_EQ(content.more[0].size(), static_cast<std::size_t>(content.lengths[0]));
  EXPECT_NE(content.lengths[0], content.lengths[1]);
  EXPECT_EQ(std::get<SequencesStructure>(structure_of(content)).names[1], "right");
}

TEST(RequestSource, PairedLengthsStayTogether) {
  const LengthSource table = LengthSource::from_table({3, 9, 27}, "a file").value();
  const RequestSource source(5, SequencesSource{table, {"steps", "target"}, {0}, {30, 1, 5}}, 7);
  RequestContent content;
  std::set<std::vector<std::int32_t>> seen;
  for (std::uint64_t index = 0; index < 100; ++index) {
    source.make(index, content);
    EXPECT_EQ(content.tokens.size(), static_cast<std::size_t>(content.lengths[0]))
        << "the other one's rows are made, not given";
    seen.insert(content.lengths);
  }
  EXPECT_EQ(seen, (std::set<std::vector<std::int32_t>>{{3, 30}, {9, 1}, {27, 5}}));
  EXPECT_EQ(source.description(), "pairs of lengths a file");
  EXPECT_EQ(std::get<SequencesStructure>(structure_of(content)).names[1], "target");
}

TEST(RequestSource, WhatIsOfTheWholeRequestHasOneRow) {
  const SequencesSource sequences{LengthSource::fixed(9), {"steps"}, {0, SequencesSource::kOnce}};
  const RequestSource source(5, sequences, 7);
  RequestContent content;
  source.make(1, content);
  EXPECT_EQ(content.tokens.size(), 9U);
  ASSERT_EQ(content.more.size(), 1U);
  EXPECT_EQ(content.more[0].size(), 1U);
}

TEST(GraphSource, NodesHaveTypesThatFit) {
  const std::vector<GraphCellType> types{{"leaf", true}, {"a", false, true}, {"b", false, true}};
  auto graphs = GraphSource::make(TreeSource::random(LengthSource::fixed(12)), types);
  ASSERT_TRUE(graphs) << graphs.error().message;
  const RequestSource source(5, *graphs, 7);
  RequestContent content;
  std::set<std::int32_t> seen;
  for (std::uint64_t index = 0; index < 20; ++index) {
    source.make(index, content);
    const auto graph = std::get<GraphStructure>(structure_of(content));
    for (std::size_t node = 0; node < graph.type_of.size(); ++node) {
      const bool leaf = graph.offsets[node] == graph.offsets[node + 1];
      EXPECT_EQ(leaf, graph.type_of[node] == 0);
      seen.insert(graph.type_of[node]);
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

std::vector<std::int32_t> predecessors_of(const GraphStructure& graph, std::size_t node) {
  return {graph.predecessors.begin() + graph.offsets[node],
          graph.predecessors.begin() + graph.offsets[node + 1]};
}

TEST(GraphSource, WithoutLeavesTheyAreTextsOfWords) {
  constexpr std::size_t kWords = 12;
  auto graphs = GraphSource::make(TreeSource::random(LengthSource::fixed(kWords)), kTextTypes);
  ASSERT_TRUE(graphs) << graphs.error().message;
  const RequestSource source(5, *graphs, 7);
  RequestContent content;
  std::set<std::size_t> sizes;
  for (std::uint64_t index = 0; index < 20; ++index) {
    source.make(index, content);
    const auto graph = std::get<GraphStructure>(structure_of(content));
    EXPECT_EQ(size_of(graph), kWords);
    std::array<std::vector<std::size_t>, 4> nodes;
    for (std::size_t node = 0; node < graph.type_of.size(); ++node)
      nodes[static_cast<std::size_t>(graph.type_of[node])].push_back(node);
    sizes.insert(nodes[0].size());
    for (const std::size_t type : {1, 2, 3}) ASSERT_EQ(nodes[type].size(), kWords);
    for (std::size_t word = 0; word < kWords; ++word) {
      // The words behind each other, from either end, and what reads both.
      const std::size_t behind = kWords - 1 - word;
      const auto ahead = predecessors_of(graph, nodes[1][word]),
                 back = predecessors_of(graph, nodes[2][behind]);
      EXPECT_EQ(ahead.front(), back.front()) << "the word's last character";
      EXPECT_EQ(graph.type_of[static_cast<std::size_t>(ahead.front())], 0);
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
