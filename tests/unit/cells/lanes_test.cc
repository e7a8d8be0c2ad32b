// Lanes composed in model.toml: what becomes of them, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cells/model/assemble.h"
#include "cells/model/model_definition.h"
#include "cells/unfold/unfolding.h"
#include "repository/model_toml.h"
#include "tests/unit/cells/cells_testing.h"

namespace volvox {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_cells::WeightsMaker;

constexpr const char* kStack = R"(
name = "stack"
unfolding = "lanes"
[[cell]]
name = "low"
kind = "lstm"
input = 4
hidden = 6
[[cell]]
name = "high"
kind = "lstm_layer"
input = 6
hidden = 5
[[lane]]
cell = "low"
[[lane]]
cell = "high"
from = ["low"]
push = ["h"]
[[input]]
name = "tokens"
[[output]]
name = "h"
)";

Weights stack_weights() {
  Random random(7);
  WeightsMaker maker;
  maker.add_random("low.embedding", {10, 4}, random)
      .add_random("low.weight_ih", {24, 4}, random)
      .add_random("low.weight_hh", {24, 6}, random)
      .add_random("low.bias", {24}, random)
      .add_random("high.weight_ih", {20, 6}, random)
      .add_random("high.weight_hh", {20, 5}, random)
      .add_random("high.bias", {20}, random);
  return maker.weights();
}

Result<Model> load(const std::string& toml, bool eager = false) {
  const auto definition = parse_model_definition(toml, "model.toml");
  if (!definition) return tl::unexpected(definition.error());
  return assemble(*definition, stack_weights(), {.eager = eager, .eager_window = 9}, "model.toml");
}

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = kStack;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string error_after(const std::string& from, const std::string& to) {
  const auto model = load(replaced(from, to));
  EXPECT_FALSE(model) << to;
  return model ? "" : model.error().message;
}

TEST(Lanes, ALayerReadsTheSameStepOfTheOneBelow) {
  const auto model = load(kStack);
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_EQ(model->types.size(), 2U);
  const auto& lanes = model->plan.lanes;
  ASSERT_EQ(lanes.size(), 2U);
  EXPECT_EQ(lanes[0].pushes[0].output, LanePush::kNowhere);
  EXPECT_EQ(lanes[1].pushes[0].output, 0);
  ASSERT_EQ(lanes[1].edges.size(), 2U);
  EXPECT_EQ(lanes[1].edges[0].from, 1);
  EXPECT_EQ(lanes[1].edges[0].offset, -1);
  EXPECT_EQ(lanes[1].edges[1].gather, 1);
  EXPECT_EQ(lanes[1].edges[1].from, 0);
  EXPECT_EQ(lanes[1].edges[1].offset, 0);
  EXPECT_EQ(model->types[1].gather_pools[1], lanes[0].pool);
  EXPECT_NE(lanes[0].pool, lanes[1].pool);
  EXPECT_LT(model->types[0].priority, model->types[1].priority) << "closer to the answer";
  EXPECT_EQ(model->outputs[0].shape, Shape{5});
  EXPECT_EQ(model->unfolding->takes(), "chain");
  EXPECT_EQ(model->unfolding->cells(*model, 7), 14U);
}

TEST(Lanes, TheLowestComputesAhead) {
  const auto model = load(kStack, true);
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_EQ(model->plan.lanes.size(), 3U);
  const auto& lanes = model->plan.lanes;
  EXPECT_EQ(lanes[0].ring, 9U);
  EXPECT_TRUE(model->types[lanes[0].type].independent);
  ASSERT_EQ(lanes[1].edges.size(), 2U);
  EXPECT_EQ(lanes[1].edges[1].from, 0);
  EXPECT_EQ(lanes[2].edges[1].from, 1);
  EXPECT_LT(model->types[lanes[0].type].priority, model->types[lanes[1].type].priority);
  EXPECT_LT(model->types[lanes[1].type].priority, model->types[lanes[2].type].priority);
}

// One cell may have several lanes: they share its weights.
TEST(Lanes, TwoOfOneCell) {
  std::string text = replaced(R"([[lane]]
cell = "high")",
                              R"([[lane]]
name = "again"
cell = "low"
[[lane]]
cell = "high")");
  const auto model = load(text, true);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->types.size(), 3U);
  const auto& lanes = model->plan.lanes;
  ASSERT_EQ(lanes.size(), 5U);
  EXPECT_EQ(lanes[1].type, lanes[3].type);
  EXPECT_EQ(lanes[1].pool, lanes[3].pool);
  EXPECT_EQ(lanes[3].edges[0].from, 3);
  EXPECT_EQ(lanes[3].edges[1].from, 2);
}

TEST(Lanes, WhatIsWrittenComesBack) {
  const auto definition =
      parse_model_definition(replaced("cell = \"low\"\n[[", "name = \"l\"\ncell = \"low\"\n[["), "x");
  ASSERT_TRUE(definition) << definition.error().message;
  const auto again = parse_model_definition(to_toml(*definition), "y");
  ASSERT_TRUE(again) << again.error().message;
  ASSERT_EQ(again->lanes.size(), 2U);
  EXPECT_EQ(again->lanes[0].name, "l");
  EXPECT_THAT(again->lanes[1].from, ElementsAre("low"));
  EXPECT_THAT(again->lanes[1].push, ElementsAre("h"));
}

TEST(Lanes, ErrorsNameTheLine) {
  EXPECT_THAT(error_after("from = [\"low\"]", "from = [\"lower\"]"),
              HasSubstr("model.toml:16: from: there is no lane 'lower' before this one"));
  EXPECT_THAT(error_after("from = [\"low\"]", "from = [\"high\"]"), HasSubstr("no lane 'high' before"));
  EXPECT_THAT(error_after("from = [\"low\"]", ""),
              HasSubstr("16: from: names 0 lanes, the cell 'high' reads 1"));
  EXPECT_THAT(error_after("from = [\"low\"]", "from = [\"low\", \"low\"]"), HasSubstr("names 2 lanes"));
  EXPECT_THAT(error_after("cell = \"low\"\n[[", "cell = \"low\"\nfrom = [\"x\"]\n[["),
              HasSubstr("no lane 'x'"));
  EXPECT_THAT(error_after("cell = \"low\"\n[[", "cell = \"lov\"\n[["), HasSubstr("there is no cell 'lov'"));
  EXPECT_THAT(error_after("name = \"high\"", "name = \"low\""), HasSubstr("cell: 'low' comes twice"));
  EXPECT_THAT(error_after("[[lane]]\ncell = \"high\"", "[[lane]]\nname = \"low\"\ncell = \"high\""),
              HasSubstr("lane: 'low' comes twice"));
  EXPECT_THAT(error_after("cell = \"high\"\nfrom = [\"low\"]", "name = \"b\"\ncell = \"low\""),
              HasSubstr("cell: no lane is of 'high'"));
  EXPECT_THAT(error_after("push = [\"h\"]", ""), HasSubstr("output 'h': nothing writes it"));
  EXPECT_THAT(error_after("cell = \"low\"\n[[", "cell = \"low\"\npush = [\"h\"]\n[["),
              HasSubstr("output 'h' is written twice"));
  EXPECT_THAT(error_after("kind = \"lstm\"", "kind = \"tree_lstm\""),
              HasSubstr("is not in the library for lanes: check, gru, lstm, noop, lstm_layer"));
  EXPECT_THAT(error_after("[[input]]\nname = \"tokens\"", ""), HasSubstr("input: lanes need at least one"));
}

TEST(Lanes, WidthsMustAgree) {
  EXPECT_THAT(error_after("input = 6", "input = 7"), HasSubstr("high.weight_ih"));
  std::string text = replaced("kind = \"lstm\"\ninput = 4\nhidden = 6", "kind = \"check\"");
  const auto model = load(text);
  ASSERT_FALSE(model);
  EXPECT_THAT(
      model.error().message,
      HasSubstr(
          "model.toml:14: from: the cell 'high' reads a state 'h' of f32[6], and the lane below keeps none"));
}

TEST(Lanes, TooManyAreRefused) {
  std::string text = kStack;
  for (int i = 0; i < 40; ++i) text += "[[lane]]\nname = \"l" + std::to_string(i) + "\"\ncell = \"low\"\n";
  const auto model = load(text);
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, HasSubstr("lane: at most 32 are possible"));
}

}  // namespace
}  // namespace volvox
