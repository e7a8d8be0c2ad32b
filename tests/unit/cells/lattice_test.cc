// Models over lattices of characters and words.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cells/model/assemble.h"
#include "cells/model/reference.h"
#include "cells/unfold/unfolding.h"
#include "repository/model_toml.h"
#include "tests/unit/cells/cells_testing.h"

namespace volvox {
namespace {

using testing::HasSubstr;
using Ints = std::vector<std::int32_t>;

constexpr const char* kLattice = R"(
name = "lattice"
unfolding = "lattice"
max_length = 50
[[cell]]
name = "lattice"
kind = "lattice_gru"
hidden = 3
max_edges = 2
[[input]]
name = "characters"
[[input]]
name = "words"
[[output]]
name = "h"
every = true
)";

Weights lattice_weights() {
  Random random(3);
  testing_cells::WeightsMaker maker;
  for (const std::string own : {"lattice.character.", "lattice.word."}) {
    maker.add_random(own + "embedding", {own.find("word") == std::string::npos ? 10 : 20, 3}, random)
        .add_random(own + "weight_ih", {9, 3}, random)
        .add_random(own + "weight_hh", {9, 3}, random)
        .add_random(own + "bias_ih", {9}, random)
        .add_random(own + "bias_hh", {9}, random);
  }
  for (const std::string gate : {"link_weight", "link_state", "own_weight"})
    maker.add_random("lattice.character." + gate, {3, 3}, random);
  for (const std::string bias : {"link_bias", "own_bias"})
    maker.add_random("lattice.character." + bias, {3}, random);
  return maker.weights();
}

Result<Model> load_lattice(const std::string& toml) {
  const auto definition = parse_model_definition(toml, "model.toml");
  if (!definition) return tl::unexpected(definition.error());
  return assemble(*definition, lattice_weights(), {}, "model.toml");
}

std::string changed_lattice(const std::string& from, const std::string& to) {
  std::string text = kLattice;
  return text.replace(text.find(from), from.size(), to);
}

class Lattices : public testing::Test {
 protected:
  void SetUp() override {
    auto model = load_lattice(kLattice);
    ASSERT_TRUE(model) << model.error().message;
    model_ = std::make_shared<const Model>(std::move(*model));
  }
  std::string refused(const Structure& structure) const {
    const auto extent = model_->unfolding->check(structure, *model_);
    EXPECT_FALSE(extent);
    return extent ? "" : extent.error().message;
  }

  std::shared_ptr<const Model> model_;
};

TEST_F(Lattices, AnInputHasARowForEachCharacterAndAnotherForEachWord) {
  EXPECT_EQ(model_->inputs[0].vocabulary, 10);
  EXPECT_EQ(model_->inputs[1].vocabulary, 20);
  const Ints starts{0, 1}, ends{2, 4};
  const auto extent = model_->unfolding->check(LatticeStructure{4, starts, ends}, *model_);
  ASSERT_TRUE(extent);
  EXPECT_EQ(extent->lengths[model_->inputs[0].sequence], 4U);
  EXPECT_EQ(extent->lengths[model_->inputs[1].sequence], 2U);
  EXPECT_EQ(model_->unfolding->cells(*model_, extent->lengths), 6U);
}

TEST_F(Lattices, ACharacterReadsTheOneBeforeAndTheWordsThatEndWithIt) {
  const Ints starts{1, 0, 0}, ends{4, 4, 2};
  const auto made = model_->unfolding->nodes(LatticeStructure{4, starts, ends}, {7, 20, 30});
  ASSERT_TRUE(made) << made.error().message;
  const NodeGraph& graph = **made;
  EXPECT_EQ(graph.model, 7U);
  EXPECT_EQ(graph.pool, 30U);
  // Character 0, word 2, characters 1 and 2, words 0 and 1, character 3.
  ASSERT_EQ(graph.size(), 7U);
  const std::vector<CellTypeId> types{20, 21, 20, 20, 21, 21, 20};
  const std::vector<std::uint32_t> rows{0, 2, 1, 2, 0, 1, 3};
  for (std::uint32_t v = 0; v < graph.size(); ++v) {
    EXPECT_EQ(graph.node(v).type, types[v]) << v;
    EXPECT_EQ(graph.node(v).pull_row, rows[v]) << v;
    EXPECT_EQ(graph.node(v).push, types[v] == 20) << v;
  }
  EXPECT_TRUE(graph.predecessors(0).empty());
  ASSERT_EQ(graph.predecessors(4).size(), 1U);
  EXPECT_EQ(graph.predecessors(4)[0].node, 2U) << "a word reads its first character";
  ASSERT_EQ(graph.predecessors(6).size(), 3U);
  EXPECT_EQ(graph.predecessors(6)[0].node, 3U);
  EXPECT_EQ(graph.predecessors(6)[0].gather, 0U);
  EXPECT_EQ(graph.predecessors(6)[1].node, 4U);
  EXPECT_EQ(graph.predecessors(6)[2].node, 5U);
  EXPECT_EQ(graph.predecessors(6)[2].gather, NodeGraph::kRagged);
}

TEST_F(Lattices, WhatIsNoLatticeIsRefused) {
  const auto words = [](std::uint32_t length, const Ints& starts, const Ints& ends) {
    return LatticeStructure{length, starts, ends};
  };
  EXPECT_THAT(refused(ChainStructure{3}), HasSubstr("send one, with its words' starts and ends"));
  EXPECT_THAT(refused(words(0, {}, {})), HasSubstr("no characters"));
  EXPECT_THAT(refused(words(51, {}, {})), HasSubstr("at most 50 characters and words, not 51"));
  EXPECT_THAT(refused(words(48, {0, 0, 0}, {2, 3, 4})), HasSubstr("not 51"));
  const Ints none, one{0};
  EXPECT_THAT(refused(words(3, one, none)), HasSubstr("1 starts of words, but 0 ends"));
  for (const auto& [start, end] : {std::pair{-1, 2}, {2, 5}, {2000000000, 2000000002}})
    EXPECT_THAT(refused(words(4, {start}, {end})), HasSubstr("outside of 4 characters")) << start;
  for (const auto& [start, end] : {std::pair{1, 2}, {1, 1}, {3, 1}, {0, -2147483647}})
    EXPECT_THAT(refused(words(4, {start}, {end})), HasSubstr("two characters or more")) << end;
  EXPECT_THAT(refused(words(4, {0, 1, 2}, {4, 4, 4})),
              HasSubstr("word 2 spans [2, 4), where more than 2 words"));
}

TEST_F(Lattices, TheReferenceRefusesWordsThatTheModelHasNot) {
  auto reference = Reference::make(model_);
  ASSERT_TRUE(reference) << reference.error().message;
  const Ints characters{1, 2, 3}, words{19}, wrong{20}, starts{0}, ends{2};
  const auto run = [&](const Ints& ids) {
    const std::array inputs{std::as_bytes(std::span(characters)), std::as_bytes(std::span(ids))};
    return reference->run(inputs, LatticeStructure{3, starts, ends});
  };
  EXPECT_TRUE(run(words));
  EXPECT_FALSE(run(wrong));
  EXPECT_FALSE(run({}));
}

TEST(LatticeDefinitions, ThatDoNotFitAreRefused) {
  const auto error = [](const std::string& from, const std::string& to) {
    const auto model = load_lattice(changed_lattice(from, to));
    EXPECT_FALSE(model) << to;
    return model ? std::string() : model.error().message;
  };
  EXPECT_THAT(error("[[input]]\nname = \"words\"\n", ""), HasSubstr("a lattice has two"));
  EXPECT_THAT(error("kind = \"lattice_gru\"", "kind = \"gru\""),
              HasSubstr("not in the library for a lattice"));
  EXPECT_THAT(error("[[output]]", "[[sequence]]\nname = \"s\"\n[[output]]"), HasSubstr("sequence"));
  EXPECT_THAT(error("name = \"h\"", "name = \"h\"\n[[output]]\nname = \"other\""),
              HasSubstr("nothing writes it"));
}

}  // namespace
}  // namespace volvox
