// Lanes composed in model.toml: what becomes of them, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cells/ir/cell_builder.h"
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

Weights low_weights() {
  Random random(7);
  WeightsMaker maker;
  return maker.add_random("low.embedding", {10, 4}, random)
      .add_random("low.weight_ih", {24, 4}, random)
      .add_random("low.weight_hh", {24, 6}, random)
      .add_random("low.bias", {24}, random)
      .weights();
}

Weights stack_weights(bool with_top = false) {
  Random random(7);
  WeightsMaker maker;
  maker.add_random("low.embedding", {10, 4}, random)
      .add_random("low.weight_ih", {24, 4}, random)
      .add_random("low.weight_hh", {24, 6}, random)
      .add_random("low.bias", {24}, random)
      .add_random("high.weight_ih", {20, 6}, random)
      .add_random("high.weight_hh", {20, 5}, random)
      .add_random("high.bias", {20}, random);
  if (with_top) {
    maker.add_random("top.weight_ih", {20, 5}, random)
        .add_random("top.weight_hh", {20, 5}, random)
        .add_random("top.bias", {20}, random);
  }
  return maker.weights();
}

Result<Model> load(const std::string& toml, bool eager = false) {
  const auto definition = parse_model_definition(toml, "model.toml");
  if (!definition) return tl::unexpected(definition.error());
  const Weights weights = stack_weights(toml.find("\"top\"") != std::string::npos);
  return assemble(*definition, weights, {.eager = eager, .eager_window = 9}, "model.toml");
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
  EXPECT_EQ(model->unfolding->takes(*model), "chain");
  EXPECT_EQ(model->unfolding->cells(*model, {7}), 14U);
}

// What a layer reads of the one below does not wait for its own steps: many of them are multiplied at once,
// so the one below keeps as many.
TEST(Lanes, EveryLayerComputesAhead) {
  const auto model = load(kStack, true);
  ASSERT_TRUE(model) << model.error().message;
  const auto& lanes = model->plan.lanes;
  ASSERT_EQ(lanes.size(), 4U);
  for (const std::size_t eager : {0U, 2U}) {
    EXPECT_EQ(lanes[eager].ring, 9U);
    EXPECT_TRUE(model->types[lanes[eager].type].independent);
    ASSERT_EQ(lanes[eager + 1].edges.size(), 2U) << "its own step before, and what was computed ahead";
    EXPECT_EQ(lanes[eager + 1].edges[1].from, eager);
    EXPECT_LT(model->types[lanes[eager].type].priority, model->types[lanes[eager + 1].type].priority);
  }
  EXPECT_EQ(lanes[1].ring, 9U);
  ASSERT_EQ(lanes[2].edges.size(), 1U);
  EXPECT_EQ(lanes[2].edges[0].from, 1);
  EXPECT_EQ(lanes[2].edges[0].gather, 1);
  EXPECT_EQ(model->types[lanes[2].type].gather_pools[1], lanes[1].pool);
  EXPECT_TRUE(lanes[2].may_wait);
  EXPECT_EQ(lanes[3].ring, 2U);
  EXPECT_LT(model->types[lanes[1].type].priority, model->types[lanes[3].type].priority);
}

// Where lanes may read what lies above them, their steps come one by one anyway.
TEST(Lanes, NoLayerOfACircleComputesAhead) {
  std::string text = replaced("push = [\"h\"]", R"(
[[cell]]
name = "top"
kind = "lstm_layer"
input = 5
hidden = 5
[[lane]]
cell = "top"
from = ["high:before"]
push = ["h"]
)");
  const auto model = load(text, true);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->plan.lanes.size(), 4U) << "the product of the tokens is computed ahead, no other";
  EXPECT_EQ(model->plan.lanes[1].ring, 2U);
}

// A plan has room for so many lanes: where those for what is computed ahead would be too many, layers go
// without.
TEST(Lanes, ManyLayersComputeNothingAhead) {
  std::string more;
  for (std::size_t lane = 0; lane < LanePlan::kMaxLanes / 2 - 2; ++lane)
    more += "[[lane]]\nname = \"low" + std::to_string(lane) + "\"\ncell = \"low\"\n";
  more += "[[lane]]\nname = \"again\"\ncell = \"high\"\nfrom = [\"low0\"]\n";
  const auto model = load(replaced("[[input]]", more + "[[input]]"), true);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->plan.lanes.size(), LanePlan::kMaxLanes);
}

// A lane above reads the same step of both: of the one below when its own step is done, long after.
TEST(Lanes, WhatIsReadLaterIsKept) {
  std::string text = replaced("push = [\"h\"]", "reverse = true");
  text += R"(
[[cell]]
name = "joined"
kind = "file"
[[lane]]
cell = "joined"
from = ["low", "high"]
push = ["h"]
)";
  auto definition = parse_model_definition(text, "model.toml");
  ASSERT_TRUE(definition) << definition.error().message;
  CellBuilder b("joined");
  b.push("h", b.concat({b.gather(1, "h", {6}), b.gather(2, "h", {5})}));
  const auto joined = b.build();
  ASSERT_TRUE(joined) << joined.error().message;
  definition->cells.back().given = std::make_shared<const Cell>(*joined);
  const auto model = assemble(*definition, stack_weights(), {.eager = false}, "model.toml");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->plan.lanes[0].ring, 0U);
  EXPECT_EQ(model->plan.lanes[1].ring, 0U);
}

// What reads both directions waits for the end of one. The other would fill its ring and then wait, too.
TEST(Lanes, NoDirectionWaitsForTheOther) {
  std::string text = kStack;
  text.replace(text.find("name = \"high\"\nkind = \"lstm_layer\"\ninput = 6\nhidden = 5"), 54,
               "name = \"joined\"\nkind = \"file\"");
  text.replace(text.find("cell = \"high\"\nfrom = [\"low\"]"), 28,
               "name = \"back\"\ncell = \"low\"\nreverse = true\n"
               "[[lane]]\ncell = \"joined\"\nfrom = [\"low\", \"back\"]");
  auto definition = parse_model_definition(text, "model.toml");
  ASSERT_TRUE(definition) << definition.error().message;
  CellBuilder b("joined");
  b.push("h", b.concat({b.gather(1, "h", {6}), b.gather(2, "h", {6})}));
  const auto joined = b.build();
  ASSERT_TRUE(joined) << joined.error().message;
  definition->cells.back().given = std::make_shared<const Cell>(*joined);
  const auto model = assemble(*definition, low_weights(), {.eager = true, .eager_window = 9}, "model.toml");
  ASSERT_TRUE(model) << model.error().message;
  for (const LaneSpec& lane : model->plan.lanes) {
    const bool ahead = lane.edges.empty();
    if (!lane.has_state) continue;
    EXPECT_EQ(lane.ring, ahead ? 9U : 0U) << "what runs ahead of a chain keeps its window";
  }
}

// A chain, a lane that copies its states, and one that emits those: `ends` is what stands in model.toml of
// the last, behind its cell.
Result<Model> copies(const std::string& ends) {
  std::string text = kStack;
  text.replace(text.find("kind = \"lstm_layer\"\ninput = 6\nhidden = 5"), 40, "kind = \"file\"");
  text.replace(text.find("push = [\"h\"]"), 12, "[[cell]]\nname = \"end\"\nkind = \"file\"\n" + ends);
  auto definition = parse_model_definition(text, "model.toml");
  if (!definition) return tl::unexpected(definition.error());
  CellBuilder copy("high"), end("end");
  copy.state({"h", {6}});
  copy.scatter("h", copy.gather(1, "h", {6}));
  end.push("h", end.gather(1, "h", {6}));
  definition->cells[1].given = std::make_shared<const Cell>(copy.build().value());
  definition->cells[2].given = std::make_shared<const Cell>(end.build().value());
  return assemble(*definition, low_weights(), {.eager = false, .eager_window = 9}, "model.toml");
}

// Its steps do not read each other, so all of them may run in one task, in which no two may write one slot.
TEST(Lanes, AllStepsAreKeptWhereOnlyTheLastIsRead) {
  const auto model = copies(R"([[sequence]]
name = "whole"
once = true
[[lane]]
cell = "end"
over = "whole"
from = ["high:last"]
push = ["h"])");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_TRUE(model->types[model->plan.lanes[1].type].independent);
  EXPECT_EQ(model->plan.lanes[0].ring, 2U) << "the copies follow it";
  EXPECT_EQ(model->plan.lanes[1].ring, 0U);
}

// They may run ahead of another lane whose steps do not read each other either: many of one request at once.
TEST(Lanes, AWindowIsKeptOfStepsThatAreFollowed) {
  const auto model = copies(R"([[lane]]
cell = "end"
from = ["high"]
push = ["h"])");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->plan.lanes[0].ring, 2U) << "a chain, whose steps come one by one";
  EXPECT_EQ(model->plan.lanes[1].ring, 9U);
}

TEST(Lanes, AFilesCellPublishesItsStatesAsItDeclaresThem) {
  const auto assembled = [](const auto& change) {
    auto definition = parse_model_definition(
        "name = \"m\"\nunfolding = \"lanes\"\n[[cell]]\nname = \"sum\"\nkind = \"file\"\n[[lane]]\ncell = "
        "\"sum\"\n"
        "[[input]]\nname = \"x\"\nshape = [2]\ndtype = \"f32\"\n[[output]]\nname = \"h\"\n",
        "model.toml");
    EXPECT_TRUE(definition) << definition.error().message;
    CellBuilder b("sum");
    b.state({.name = "h", .shape = {2}, .initial = 5});
    const ValueId h = b.add(b.gather(0, "h"), b.pull("x", DType::kF32, {2}));
    b.scatter("h", h);
    b.push("h", h);
    Cell cell = b.build().value();
    change(cell.states[0]);
    definition->cells[0].given = std::make_shared<const Cell>(cell);
    const auto model = assemble(*definition, Weights(), {}, "model.toml");
    return model ? std::string() : model.error().message;
  };
  EXPECT_EQ(assembled([](StateKind&) {}), "");
  for (const auto& change :
       {+[](StateKind& state) { state.name = "sums"; }, +[](StateKind& state) { state.shape = {3}; },
        +[](StateKind& state) { state.dtype = DType::kI32; }})
    EXPECT_THAT(assembled(change), HasSubstr("and no scatter publishes it so"));
}

TEST(Lanes, AnInputOfSeveralTablesHasTheIdsThatAllHave) {
  for (const bool small_first : {true, false}) {
    std::string text = "name = \"m\"\nunfolding = \"lanes\"\n";
    for (const char* cell : {"a", "b"})
      text += std::string("[[cell]]\nname = \"") + cell + "\"\nkind = \"lstm\"\ninput = 4\nhidden = 6\n";
    for (const char* cell : {"a", "b"})
      text += std::string("[[lane]]\ncell = \"") + cell + "\"\npush = [\"" + cell + "h\"]\n";
    text += "[[input]]\nname = \"tokens\"\n[[output]]\nname = \"ah\"\n[[output]]\nname = \"bh\"\n";
    Random random(3);
    WeightsMaker maker;
    for (const char* cell : {"a", "b"}) {
      const std::string name = cell;
      maker.add_random(name + ".embedding", {(name == "a") == small_first ? 50 : 100, 4}, random)
          .add_random(name + ".weight_ih", {24, 4}, random)
          .add_random(name + ".weight_hh", {24, 6}, random)
          .add_random(name + ".bias", {24}, random);
    }
    const auto definition = parse_model_definition(text, "model.toml");
    ASSERT_TRUE(definition) << definition.error().message;
    const auto model = assemble(*definition, maker.weights(), {}, "model.toml");
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ(model->inputs[0].vocabulary, 50);
  }
}

// Though not by the gather that stands for it.
TEST(Lanes, ACellMayReadItsOwnStepBefore) {
  std::string text = kStack;
  text.replace(text.find("kind = \"lstm_layer\"\ninput = 6\nhidden = 5"), 40, "kind = \"file\"");
  text.replace(text.find("from = [\"low\"]"), 14, "from = [\"low\", \"high:before\"]");
  auto definition = parse_model_definition(text, "model.toml");
  ASSERT_TRUE(definition) << definition.error().message;
  CellBuilder sum("high");
  sum.state({"h", {6}});
  const ValueId h = sum.add(sum.gather(1, "h", {6}), sum.gather(2, "h", {6}));
  sum.scatter("h", h);
  sum.push("h", h);
  definition->cells[1].given = std::make_shared<const Cell>(sum.build().value());
  const auto model = assemble(*definition, low_weights(), {.eager = false}, "model.toml");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_FALSE(model->types[model->plan.lanes[1].type].independent);
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
  EXPECT_EQ(model->types.size(), 4U);
  const auto& lanes = model->plan.lanes;
  ASSERT_EQ(lanes.size(), 6U);
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
              testing::AllOf(HasSubstr("is not in the library for lanes: check, cnn, gru, "),
                             HasSubstr(", lstm_decoder, "), HasSubstr(", tagger_2"),
                             testing::Not(HasSubstr("tree_fc"))));
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

constexpr const char* kTranslator = R"(
name = "translator"
unfolding = "lanes"
max_length = 20
[[cell]]
name = "low"
kind = "lstm"
input = 4
hidden = 6
[[cell]]
name = "decoder"
kind = "lstm_decoder"
input = 4
hidden = 6
start = 1
[[lane]]
cell = "low"
over = "tokens"
[[lane]]
cell = "decoder"
over = "target"
initial = "low"
push = ["said"]
[[sequence]]
name = "target"
max_length = 9
until = "said"
equals = 0
[[input]]
name = "tokens"
[[output]]
name = "said"
every = true
)";

Result<Model> translator(const std::string& from = "", const std::string& to = "", bool eager = false,
                         std::int64_t said = 10) {
  std::string text = kTranslator;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  Random random(7);
  WeightsMaker maker;
  maker.add_random("low.embedding", {10, 4}, random)
      .add_random("low.weight_ih", {24, 4}, random)
      .add_random("low.weight_hh", {24, 6}, random)
      .add_random("low.bias", {24}, random)
      .add_random("decoder.embedding", {10, 4}, random)
      .add_random("decoder.weight_ih", {24, 4}, random)
      .add_random("decoder.weight_hh", {24, 6}, random)
      .add_random("decoder.bias", {24}, random)
      .add_random("decoder.output", {said, 6}, random)
      .add_random("decoder.output_bias", {said}, random);
  const auto definition = parse_model_definition(text, "model.toml");
  if (!definition) return tl::unexpected(definition.error());
  return assemble(*definition, maker.weights(), {.eager = eager}, "model.toml");
}

TEST(Sequences, ADecoderGoesOnFromTheEncodersLastState) {
  const auto model = translator();
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_EQ(model->sequences.size(), 3U);
  EXPECT_EQ(model->sequences[0].name, "steps");
  EXPECT_EQ(model->sequences[0].max_length, 20U);
  EXPECT_EQ(model->sequences[1].kind, SequenceSpec::Kind::kStopped);
  EXPECT_EQ(model->sequences[1].max_length, 9U);
  EXPECT_EQ(model->sequences[1].stop.lane, 1);
  EXPECT_EQ(model->sequences[2].kind, SequenceSpec::Kind::kOnce);
  const auto& lanes = model->plan.lanes;
  ASSERT_EQ(lanes.size(), 3U);
  EXPECT_TRUE(lanes[1].until_stopped);
  EXPECT_EQ(lanes[1].length_of, 1);
  EXPECT_EQ(lanes[1].edges[0].before_first, 2);
  EXPECT_EQ(lanes[2].pool, lanes[1].pool) << "the step before the first one";
  EXPECT_EQ(lanes[2].edges[0].from, 0);
  EXPECT_TRUE(lanes[2].edges[0].from_end);
  EXPECT_EQ(model->outputs[0].sequence, 1);
  EXPECT_EQ(model->unfolding->takes(*model), "chain") << "requests give one length";
}

TEST(Sequences, RequestsGiveTheLengthsThatTheModelDoesNotKnow) {
  const auto model = translator();
  ASSERT_TRUE(model) << model.error().message;
  const auto lengths = [&](const Structure& structure) {
    const auto extent = model->unfolding->check(structure, *model);
    EXPECT_TRUE(extent) << extent.error().message;
    return extent ? extent->lengths : Lengths{};
  };
  const std::vector<std::int32_t> seven{7}, both{7, 3}, long_target{7, 10};
  EXPECT_EQ(lengths(ChainStructure{7}), (Lengths{7, 9, 1, 0}));
  EXPECT_EQ(lengths(SequencesStructure{{"steps"}, seven}), (Lengths{7, 9, 1, 0}));
  EXPECT_EQ(lengths(SequencesStructure{{"steps", "target"}, both}), (Lengths{7, 3, 1, 0}));
  EXPECT_EQ(model->unfolding->cells(*model, {7, 3, 1, 0}), 11U);
  const auto refused = [&](const Structure& structure) {
    const auto extent = model->unfolding->check(structure, *model);
    EXPECT_FALSE(extent);
    return extent ? "" : extent.error().message;
  };
  EXPECT_THAT(refused(ChainStructure{21}), HasSubstr("between 1 and 20 (the model's max_length), not 21"));
  EXPECT_THAT(refused(SequencesStructure{{"steps", "target"}, long_target}),
              HasSubstr("the length of the sequence 'target' must be between 1 and 9"));
  EXPECT_THAT(refused(SequencesStructure{{"target"}, seven}),
              HasSubstr("the length of the sequence 'steps' is missing"));
  EXPECT_THAT(refused(SequencesStructure{{"other"}, seven}), HasSubstr("there are: 'steps', 'target'"));
  EXPECT_THAT(refused(TreeStructure{}), HasSubstr("send a chain with its length"));
}

TEST(Sequences, ADecoderKnowsWhatItChooses) {
  EXPECT_TRUE(translator("", "", false, 9));
  const auto model = translator("", "", false, 11);
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, HasSubstr("chooses among the 11 rows of 'decoder.output', and knows "
                                               "only 10 tokens, the rows of 'decoder.embedding'"));
}

TEST(Sequences, ErrorsNameTheLine) {
  const auto error = [](const std::string& from, const std::string& to) {
    const auto model = translator(from, to);
    EXPECT_FALSE(model) << to;
    return model ? "" : model.error().message;
  };
  EXPECT_THAT(error("over = \"target\"", "over = \"else\""),
              HasSubstr("19: over: there is no input and no sequence 'else'"));
  EXPECT_THAT(error("initial = \"low\"", "initial = \"high\""),
              HasSubstr("initial: there is no lane 'high' before this one"));
  EXPECT_THAT(error("until = \"said\"", "until = \"told\""),
              HasSubstr("24: until: there is no output 'told' of one i32 for each step of 'target'"));
  EXPECT_THAT(error("every = true", ""), HasSubstr("say every = true for it"));
  EXPECT_THAT(error("every = true", "path = true"),
              HasSubstr("path: goes through all steps, so it needs every = true"));
  EXPECT_THAT(error("every = true", "every = true\npath = true"),
              HasSubstr("path: the cell emits i32[], a path is of i32[2, candidates]"));
  EXPECT_THAT(error("equals = 0", ""), HasSubstr("equals: is missing"));
  EXPECT_THAT(error("start = 1", "start = 10"),
              HasSubstr("start: the embedding has rows of tokens below 10, not of 10"));
  EXPECT_THAT(error("over = \"target\"", "over = \"target\"\nreverse = true"),
              HasSubstr("reverse: nobody knows where this sequence ends"));
  EXPECT_THAT(error("[[output]]", "[[input]]\nname = \"b\"\nsequence = \"target\"\n[[output]]"),
              HasSubstr("sequence: there is none 'target' whose length is known"));
  EXPECT_THAT(error("[[input]]", "[[sequence]]\nname = \"r\"\nonce = true\n[[input]]\nsequence = \"r\""),
              HasSubstr("one input at least has as many rows as requests say"));
  EXPECT_THAT(error("name = \"target\"\nmax", "name = \"steps\"\nmax"), HasSubstr("'steps' comes twice"));
  EXPECT_THAT(error("over = \"target\"", ""), HasSubstr("sequence: no lane runs over 'target'"));
  EXPECT_THAT(error("until = ", "once = true\nuntil = "), HasSubstr("once: such a sequence has one step"));
  EXPECT_THAT(error("unfolding = \"lanes\"", ""), HasSubstr("has one cell, here are 2"));
  EXPECT_THAT(error("initial = \"low\"", "initial = \"low\"\nfrom = [\"low:middle\"]"),
              HasSubstr("there is no 'middle' of a lane; there are before, last and all"));
}

TEST(Sequences, WhatIsWrittenComesBack) {
  const auto definition = parse_model_definition(kTranslator, "x");
  ASSERT_TRUE(definition) << definition.error().message;
  const auto again = parse_model_definition(to_toml(*definition), "y");
  ASSERT_TRUE(again) << again.error().message;
  ASSERT_EQ(again->sequences.size(), 1U);
  EXPECT_EQ(again->sequences[0].name, "target");
  EXPECT_EQ(again->sequences[0].max_length, 9U);
  EXPECT_EQ(again->sequences[0].until, "said");
  EXPECT_EQ(again->lanes[1].initial, "low");
  EXPECT_EQ(again->cells[1].start, 1);
}

// A lane that runs the other way reads the row of the same step, and so keeps nothing that is read too early.
TEST(Sequences, BothDirectionsMeetAtTheSameRow) {
  const auto model = load(replaced("cell = \"high\"\n", "cell = \"high\"\nreverse = true\n"));
  ASSERT_TRUE(model) << model.error().message;
  const auto& lanes = model->plan.lanes;
  EXPECT_TRUE(lanes[1].reversed);
  EXPECT_EQ(lanes[0].ring, 0U);
  EXPECT_EQ(lanes[1].edges[1].stride, -1);
  EXPECT_TRUE(lanes[1].edges[1].from_end);
}

TEST(Lanes, TooManyAreRefused) {
  std::string text = kStack;
  for (int i = 0; i < 80; ++i) text += "[[lane]]\nname = \"l" + std::to_string(i) + "\"\ncell = \"low\"\n";
  const auto model = load(text);
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, HasSubstr("lane: at most 64 are possible"));
}

}  // namespace
}  // namespace volvox
