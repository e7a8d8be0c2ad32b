// Models over graphs that come with the request, made of the cells of trees.
#include <cstring>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cells/ir/check_hash.h"
#include "cells/library/check.h"
#include "cells/model/assemble.h"
#include "cells/model/reference.h"
#include "cells/unfold/unfolding.h"
#include "repository/model_toml.h"
#include "tests/unit/cells/cells_testing.h"

namespace volvox {
namespace {

using testing::HasSubstr;
using Ints = std::vector<std::int32_t>;

constexpr const char* kHashes = R"(
name = "hashes"
unfolding = "graph"
max_length = 300
[[cell]]
name = "one"
kind = "check_tree"
max_edges = 20
[[cell]]
name = "other"
kind = "check_tree"
[[input]]
name = "tokens"
[[output]]
name = "state"
every = true
)";

// Why a definition is refused.
std::string why_not(const std::string& toml) {
  const auto definition = parse_model_definition(toml, "model.toml");
  EXPECT_TRUE(definition) << definition.error().message;
  const auto model = assemble(*definition, {}, {}, "model.toml");
  return model ? "" : model.error().message;
}

std::shared_ptr<const Model> load(const std::string& toml, Weights weights = {}) {
  const auto definition = parse_model_definition(toml, "model.toml");
  EXPECT_TRUE(definition) << definition.error().message;
  auto model = assemble(*definition, std::move(weights), {}, "model.toml");
  EXPECT_TRUE(model) << model.error().message;
  return model ? std::make_shared<const Model>(std::move(*model)) : nullptr;
}

// What a client sends.
struct SentGraph {
  std::vector<std::string_view> names{"one", "other"};
  Ints types, offsets{0}, predecessors;

  void add(std::int32_t type, const Ints& before) {
    types.push_back(type);
    predecessors.insert(predecessors.end(), before.begin(), before.end());
    offsets.push_back(static_cast<std::int32_t>(predecessors.size()));
  }
  GraphStructure structure() const { return {names, types, offsets, predecessors}; }
};

SentGraph random_graph(std::mt19937& random, int nodes) {
  SentGraph graph;
  for (std::int32_t v = 0; v < nodes; ++v) {
    Ints before;
    for (int tries = static_cast<int>(random() % 6); v > 0 && tries > 0; --tries)
      before.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(v)));
    graph.add(static_cast<std::int32_t>(random() % 2), before);
  }
  return graph;
}

std::vector<std::uint64_t> hashes(const SentGraph& graph, const Ints& tokens) {
  std::vector<std::uint64_t> states;
  for (std::size_t v = 0; v < graph.types.size(); ++v) {
    std::uint64_t state = check_hash(0, static_cast<std::uint64_t>(std::int64_t{tokens[v]}));
    for (auto at = graph.offsets[v]; at < graph.offsets[v + 1]; ++at)
      state = check_hash(state,
                         states[static_cast<std::size_t>(graph.predecessors[static_cast<std::size_t>(at)])]);
    states.push_back(state);
  }
  return states;
}

TEST(Graphs, EachNodeReadsWhatItLists) {
  const auto model = load(kHashes);
  ASSERT_NE(model, nullptr);
  auto reference = Reference::make(model);
  ASSERT_TRUE(reference) << reference.error().message;
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    const SentGraph graph = random_graph(random, 1 + static_cast<int>(random() % 60));
    Ints tokens;
    for (std::size_t v = 0; v < graph.types.size(); ++v)
      tokens.push_back(static_cast<std::int32_t>(random()));
    const auto answer = reference->run(tokens, graph.structure());
    ASSERT_TRUE(answer) << answer.error().message;
    std::vector<std::uint64_t> states(graph.types.size());
    ASSERT_EQ((*answer)[0].bytes.size(), states.size() * sizeof(std::uint64_t));
    std::memcpy(states.data(), (*answer)[0].bytes.data(), (*answer)[0].bytes.size());
    EXPECT_EQ(states, hashes(graph, tokens));
  }
}

TEST(Graphs, TheCellGraphIsTheClients) {
  const auto model = load(kHashes);
  ASSERT_NE(model, nullptr);
  SentGraph graph;
  graph.add(0, {});
  graph.add(1, {0});
  graph.add(1, {1, 0, 1});
  EXPECT_EQ(model->unfolding->check(graph.structure(), *model)->lengths[0], 3U);
  const auto nodes = model->unfolding->nodes(graph.structure(), {7, 20, 30});
  ASSERT_TRUE(nodes) << nodes.error().message;
  EXPECT_EQ((*nodes)->model, 7U);
  EXPECT_EQ((*nodes)->pool, 30U);
  EXPECT_EQ((*nodes)->node(0).type, 20U);
  EXPECT_EQ((*nodes)->node(2).type, 21U);
  ASSERT_EQ((*nodes)->predecessors(2).size(), 3U);
  EXPECT_EQ((*nodes)->predecessors(2)[0].node, 1U);
  EXPECT_EQ((*nodes)->predecessors(2)[1].node, 0U);
  EXPECT_EQ((*nodes)->predecessors(2)[0].gather, NodeGraph::kRagged);
}

TEST(Graphs, WhatDoesNotFitIsRefused) {
  const auto model = load(kHashes);
  ASSERT_NE(model, nullptr);
  const auto refused = [&](const Structure& structure) {
    const auto extent = model->unfolding->check(structure, *model);
    EXPECT_FALSE(extent);
    return extent ? "" : extent.error().message;
  };
  EXPECT_THAT(refused(ChainStructure{3}), HasSubstr("send a graph of its cells"));
  SentGraph unknown;
  unknown.names = {"one", "third"};
  unknown.add(0, {});
  EXPECT_THAT(refused(unknown.structure()),
              HasSubstr("there is no cell type 'third'; this model has 'one', 'other'"));
  SentGraph wide;
  wide.add(0, {});
  wide.add(1, Ints(21, 0));
  EXPECT_THAT(refused(wide.structure()), HasSubstr("graph node 1 follows 21 nodes; at most 20"));
  SentGraph large;
  for (int v = 0; v < 301; ++v) large.add(0, {});
  EXPECT_THAT(refused(large.structure()), HasSubstr("at most 300 nodes, not 301"));
}

Weights tree_weights() {
  Random random(3);
  testing_cells::WeightsMaker maker;
  maker.add_random("t.leaf.embedding", {10, 4}, random)
      .add_random("t.leaf.weight", {18, 4}, random)
      .add_random("t.leaf.bias", {18}, random)
      .add_random("t.internal.left", {30, 6}, random)
      .add_random("t.internal.right", {30, 6}, random)
      .add_random("t.internal.bias", {30}, random);
  return maker.weights();
}

std::string tree_lstm(const std::string& unfolding) {
  return "name = \"t\"\nunfolding = \"" + unfolding +
         "\"\n[[cell]]\nname = \"t\"\nkind = \"tree_lstm\"\ninput = 4\nhidden = 6\n[[input]]\nname = "
         "\"tokens\"\n[[output]]\nname = \"h\"\n";
}

TEST(Graphs, ATreeIsAGraph) {
  auto as_tree = Reference::make(load(tree_lstm("tree"), tree_weights()));
  auto as_graph = Reference::make(load(tree_lstm("graph"), tree_weights()));
  ASSERT_TRUE(as_tree && as_graph);
  const Ints tokens{1, 2, 0, 3, 0}, parents{2, 2, 4, 4, -1};
  SentGraph graph;
  graph.names = {"t.leaf", "t.internal"};
  graph.add(0, {});
  graph.add(0, {});
  graph.add(1, {0, 1});
  graph.add(0, {});
  graph.add(1, {2, 3});
  const auto one = as_tree->run(tokens, TreeStructure{parents});
  const auto other = as_graph->run(tokens, graph.structure());
  ASSERT_TRUE(one) << one.error().message;
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ((*one)[0].reals, (*other)[0].reals);
}

TEST(Graphs, ANodeReadsAsManyAsItsCell) {
  const auto model = load(tree_lstm("graph"), tree_weights());
  ASSERT_NE(model, nullptr);
  SentGraph graph;
  graph.names = {"t.leaf", "t.internal"};
  graph.add(0, {});
  graph.add(1, {0, 0, 0});
  const auto extent = model->unfolding->check(graph.structure(), *model);
  ASSERT_FALSE(extent);
  EXPECT_THAT(extent.error().message, HasSubstr("node 1 follows 3 nodes; a 't.internal' reads at most 2"));
}

// Words of characters: of its cells the last one emits, and the others nothing.
std::string words_model(const std::string& output) {
  return "name = \"w\"\nunfolding = \"graph\"\n[[cell]]\nname = \"w\"\nkind = \"word_lstm\"\ninput = 2\n"
         "hidden = 3\n[[cell]]\nname = \"label\"\nkind = \"word_tagger\"\ninput = 3\nhidden = 2\n[[input]]\n"
         "name = \"tokens\"\n[[output]]\nname = \"label\"\n" +
         output;
}

Weights word_weights() {
  Random random(3);
  testing_cells::WeightsMaker maker;
  maker.add_random("w.character.embedding", {5, 2}, random)
      .add_random("w.character.weight_ih", {12, 2}, random)
      .add_random("label.weight", {2, 6}, random)
      .add_random("label.bias", {2}, random);
  for (const std::string cell : {"w.ahead", "w.back"}) maker.add_random(cell + ".weight_ih", {12, 3}, random);
  for (const std::string cell : {"w.character", "w.ahead", "w.back"})
    maker.add_random(cell + ".weight_hh", {12, 3}, random).add_random(cell + ".bias", {12}, random);
  return maker.weights();
}

// A word of one character, with `labels` labels.
SentGraph one_word(int labels) {
  SentGraph graph;
  graph.names = {"w.character", "w.ahead", "w.back", "label"};
  graph.add(0, {});
  graph.add(1, {0});
  for (int label = 0; label < labels; ++label) graph.add(3, {1});
  graph.add(2, {0});
  return graph;
}

TEST(Graphs, AnswersHaveRowsOfTheNodesThatEmit) {
  const auto model = load(words_model("every = true\n"), word_weights());
  ASSERT_NE(model, nullptr);
  const SentGraph graph = one_word(3);
  const auto extent = model->unfolding->check(graph.structure(), *model);
  ASSERT_TRUE(extent) << extent.error().message;
  EXPECT_EQ(extent->lengths[0], 6U);
  ASSERT_EQ(model->outputs[0].sequence, 1U);
  EXPECT_EQ(extent->lengths[1], 3U);
  const auto nodes = model->unfolding->nodes(graph.structure(), {7, 20, 30});
  ASSERT_TRUE(nodes) << nodes.error().message;
  for (std::uint32_t v = 0; v < 6; ++v) {
    const bool answers = v >= 2 && v < 5;
    EXPECT_EQ((*nodes)->node(v).push, answers) << v;
    EXPECT_EQ((*nodes)->node(v).push_row, answers ? v - 2 : 0U) << v;
  }
  const auto refused = model->unfolding->check(one_word(0).structure(), *model);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("there would be no answer"));
}

TEST(Graphs, TheLastNodeEmitsTheOnlyRow) {
  const auto model = load(words_model(""), word_weights());
  ASSERT_NE(model, nullptr);
  SentGraph graph = one_word(1);
  const auto refused = model->unfolding->check(graph.structure(), *model);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("node 3, the last one, is to answer"));
  graph.add(3, {1, 3});
  auto reference = Reference::make(model);
  ASSERT_TRUE(reference) << reference.error().message;
  const auto answer = reference->run(Ints{4, 0, 0, 0, 0}, graph.structure());
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ((*answer)[0].bytes.size(), sizeof(std::int32_t));
}

TEST(Graphs, SomeCellWritesEachOutput) {
  std::string text = words_model("");
  text.replace(text.find("[[cell]]\nname = \"label\""),
               text.find("[[input]]") - text.find("[[cell]]\nname = \"label\""), "");
  const auto definition = parse_model_definition(text, "model.toml");
  ASSERT_TRUE(definition) << definition.error().message;
  const auto model = assemble(*definition, word_weights(), {}, "model.toml");
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, HasSubstr("output 'label': nothing writes it"));
}

TEST(Graphs, DefinitionsThatDoNotFitAreRefused) {
  const auto error = [](const std::string& from, const std::string& to) {
    std::string text = kHashes;
    text.replace(text.find(from), from.size(), to);
    const auto definition = parse_model_definition(text, "model.toml");
    if (!definition) return definition.error().message;
    const auto model = assemble(*definition, {}, {}, "model.toml");
    EXPECT_FALSE(model) << to;
    return model ? std::string() : model.error().message;
  };
  EXPECT_THAT(error("name = \"other\"", "name = \"one\""), HasSubstr("cell: 'one' comes twice"));
  EXPECT_THAT(error("kind = \"check_tree\"", "kind = \"lstm\""), HasSubstr("not in the library for a graph"));
  EXPECT_THAT(error("[[input]]", "[[sequence]]\nname = \"s\"\n[[input]]"),
              HasSubstr("sequence: a graph has none"));
}

// Lanes only say what a cell pulls and pushes.
TEST(Graphs, TheirLanesAreOfTheirCells) {
  const std::string toml = kHashes;
  EXPECT_EQ(why_not(toml + "[[lane]]\ncell = \"one\"\n"), "");
  EXPECT_THAT(why_not(toml + "[[lane]]\ncell = \"once\"\n"), HasSubstr("there is no cell 'once'"));
  EXPECT_THAT(why_not(toml + "[[lane]]\ncell = \"one\"\n[[lane]]\ncell = \"one\"\n"),
              HasSubstr("'one' has more"));
  EXPECT_THAT(why_not(toml + "[[lane]]\ncell = \"one\"\nreverse = true\n"),
              HasSubstr("from, initial and reverse are of lanes"));
}

}  // namespace
}  // namespace volvox
