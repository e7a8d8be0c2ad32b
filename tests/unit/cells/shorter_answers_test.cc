// Answers whose last steps have no row, and requests that must be long enough to have one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cells/model/assemble.h"
#include "cells/model/model_definition.h"
#include "cells/model/reference.h"
#include "cells/unfold/unfolding.h"
#include "repository/model_toml.h"
#include "tests/unit/cells/cells_testing.h"

namespace volvox {
namespace {

using testing::HasSubstr;
using testing_cells::WeightsMaker;

constexpr const char* kShortModel = R"(name = "short"
min_length = 3
max_length = 9
[[cell]]
name = "low"
kind = "lstm"
input = 4
hidden = 2
[[input]]
name = "tokens"
[[output]]
name = "h"
every = true
fewer = 2
)";

std::string with_change(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

Result<Model> load_short(const std::string& toml) {
  const auto definition = parse_model_definition(toml, "model.toml");
  if (!definition) return tl::unexpected(definition.error());
  Random random(7);
  WeightsMaker maker;
  maker.add_random("low.embedding", {10, 4}, random)
      .add_random("low.weight_ih", {8, 4}, random)
      .add_random("low.weight_hh", {8, 2}, random)
      .add_random("low.bias", {8}, random);
  return assemble(*definition, maker.weights(), {}, "model.toml");
}

std::vector<double> short_answer(const std::string& toml) {
  const auto model = load_short(toml);
  EXPECT_TRUE(model) << model.error().message;
  auto reference = Reference::make(std::make_shared<const Model>(*model));
  EXPECT_TRUE(reference);
  const std::vector<std::int32_t> tokens{3, 1, 4, 1, 5};
  const auto outputs = reference->run(tokens, ChainStructure{5});
  EXPECT_TRUE(outputs);
  return outputs->front().reals;
}

TEST(ShorterAnswers, LackTheRowsOfTheLastSteps) {
  std::vector<double> all = short_answer(with_change(kShortModel, "fewer = 2", ""));
  ASSERT_EQ(all.size(), 10U);
  all.resize(6);
  EXPECT_EQ(short_answer(kShortModel), all);
}

TEST(ShorterAnswers, AreOfRequestsThatAreLongEnough) {
  const auto model = load_short(kShortModel);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_TRUE(model->unfolding->check(ChainStructure{3}, *model));
  const auto refused = model->unfolding->check(ChainStructure{2}, *model);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr("the chain's length must be between 3 and 9 (the model's max_length), not 2"));
}

TEST(ShorterAnswers, WhatIsWrittenComesBack) {
  const auto definition = parse_model_definition(kShortModel, "x");
  ASSERT_TRUE(definition) << definition.error().message;
  const auto again = parse_model_definition(to_toml(*definition), "y");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->min_length, 3U);
  EXPECT_EQ(again->outputs.at(0).fewer, 2U);
}

TEST(ShorterAnswers, OneRowIsLeftOfAll) {
  const auto error = [](const std::string& from, const std::string& to) {
    const auto model = load_short(with_change(kShortModel, from, to));
    EXPECT_FALSE(model) << to;
    return model ? "" : model.error().message;
  };
  EXPECT_THAT(error("fewer = 2", "fewer = 3"), HasSubstr("fewer: needs every = true, and the model a min_"));
  EXPECT_THAT(error("every = true", ""), HasSubstr("fewer: needs every = true"));
  EXPECT_THAT(error("max_length = 9", "max_length = 2"), HasSubstr("min_length: is more than max_length"));
  const auto tree = parse_model_definition(
      "name = \"t\"\nunfolding = \"tree\"\nmin_length = 2\n[[cell]]\nname = \"c\"\nkind = \"check_tree\"\n"
      "[[input]]\nname = \"tokens\"\n[[output]]\nname = \"state\"\n",
      "tree.toml");
  ASSERT_TRUE(tree) << tree.error().message;
  const auto refused = assemble(*tree, Weights{}, {}, "tree.toml");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("tree.toml:1: min_length: is of chains and lanes"));
}

}  // namespace
}  // namespace volvox
