// Graphs over a sequence of any length: the lanes that they become.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "cells/patterns/lstm.h"
#include "import/onnx/converted.h"
#include "import/onnx/sequence/open_length.h"
#include "import/onnx/sequence/step_call.h"
#include "tests/unit/import/onnx_testing.h"

namespace volvox {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_onnx::bytes_of;
using testing_onnx::case_of;

class OnnxSequence : public testing_onnx::OnnxTest {
 protected:
  ConvertedOnnx converted(const std::string& name) const { return converted(of(case_of(name))); }
  static ConvertedOnnx converted(const OnnxImport& import) {
    const std::string bytes = testing_onnx::read(import.file);
    auto made = convert_onnx(import, std::as_bytes(std::span(bytes)));
    EXPECT_TRUE(made) << made.error().message;
    return made ? std::move(*made) : ConvertedOnnx{};
  }
  static std::string error_of(const OnnxImport& import) {
    const auto done = import_onnx(import);
    EXPECT_FALSE(done);
    return done ? "" : done.error().message;
  }
  std::shared_ptr<const Model> loaded(const std::string& name) const {
    const auto done = import_onnx(of(case_of(name)));
    EXPECT_TRUE(done) << done.error().message;
    const auto model = load_model(folder_.path() / "imported", {.eager = false});
    EXPECT_TRUE(model) << model.error().message;
    return *model;
  }
};

const LaneDefinition& lane_of(const ConvertedOnnx& made, const std::string& cell) {
  const auto& lanes = made.definition.lanes;
  const auto found =
      std::find_if(lanes.begin(), lanes.end(), [&](const LaneDefinition& lane) { return lane.cell == cell; });
  if (found == lanes.end()) throw std::runtime_error("no lane " + cell);
  return *found;
}

TEST_F(OnnxSequence, EachLayerAndDirectionIsALane) {
  const ConvertedOnnx made = converted("sequence_tagger");
  EXPECT_EQ(made.definition.unfolding, "lanes");
  ASSERT_EQ(made.definition.lanes.size(), 5U);
  EXPECT_FALSE(lane_of(made, "gru0").reverse);
  EXPECT_TRUE(lane_of(made, "gru1").reverse);
  EXPECT_THAT(lane_of(made, "gru0").pull, ElementsAre("x"));
  EXPECT_THAT(lane_of(made, "gru3").from, ElementsAre("gru0", "gru1"));
  EXPECT_THAT(lane_of(made, "output0").from, ElementsAre("gru2", "gru3"));
  EXPECT_THAT(lane_of(made, "output0").push, ElementsAre("y"));
  EXPECT_EQ(made.definition.inputs.front().dtype, DType::kI32);
  EXPECT_EQ(made.definition.inputs.front().shape, Shape{});
  EXPECT_EQ(made.definition.outputs.front().shape, Shape{3});
  EXPECT_TRUE(made.definition.outputs.front().every);
  EXPECT_THAT(made.report, HasSubstr("5 lanes along axis 0 of x"));
}

// Both directions look up one table, which is there once.
TEST_F(OnnxSequence, WeightsAreThereOnce) {
  std::set<std::string> names;
  std::size_t tables = 0;
  for (const ConvertedOnnx::Weight& weight : converted("sequence_tagger").weights) {
    EXPECT_TRUE(names.insert(weight.name).second) << weight.name;
    tables += weight.shape == Shape{7, 3} ? 1 : 0;
  }
  EXPECT_EQ(tables, 1U);
}

// The cells are what fused kernels know, above both directions of a layer as well.
TEST_F(OnnxSequence, LstmsAreRecognised) {
  for (const char* name : {"sequence_lstm", "sequence_batch_first"}) {
    const auto model = loaded(name);
    std::size_t fused = 0, recurrent = 0;
    for (const CellTypeSpec& type : model->types) {
      recurrent += type.name.starts_with("lstm") ? 1 : 0;
      fused += match_lstm(type.cell) ? 1 : 0;
    }
    EXPECT_GT(recurrent, 0U);
    EXPECT_EQ(fused, recurrent) << name;
  }
}

TEST_F(OnnxSequence, WhatOnlyTheEndNeedsIsComputedOnce) {
  const ConvertedOnnx made = converted("sequence_end");
  EXPECT_FALSE(made.definition.outputs.front().every);
  ASSERT_EQ(made.definition.sequences.size(), 1U);
  EXPECT_TRUE(made.definition.sequences.front().once);
  const LaneDefinition& output = lane_of(made, "output0");
  EXPECT_EQ(output.over, made.definition.sequences.front().name);
  // What runs in reverse ends at the first step: its last row is handed on by a lane that runs forwards.
  EXPECT_THAT(output.from, ElementsAre("lstm0:last", "part0:last"));
}

TEST_F(OnnxSequence, StatesBeginWhereTheGraphSays) {
  const ConvertedOnnx made = converted("sequence_handed");
  EXPECT_EQ(lane_of(made, "lstm0").initial, "begin0");
  EXPECT_EQ(lane_of(made, "lstm1").initial, "begin1");
  EXPECT_THAT(lane_of(made, "begin1").from, ElementsAre("lstm0:last"));
  // One number for all of a state needs no lane.
  for (const CellDefinition& cell : made.definition.cells) {
    if (cell.name != "lstm0") continue;
    const auto& states = cell.given->states;
    const auto c =
        std::find_if(states.begin(), states.end(), [](const StateKind& kind) { return kind.name == "c"; });
    ASSERT_NE(c, states.end());
    EXPECT_EQ(c->initial, 0.5);
  }
}

TEST_F(OnnxSequence, OtherOutputsAreLeftOut) {
  OnnxImport import = of(case_of("sequence_scan"));
  EXPECT_EQ(converted(import).definition.outputs.size(), 2U);
  import.outputs = {"end"};
  const ConvertedOnnx made = converted(import);
  ASSERT_EQ(made.definition.outputs.size(), 1U);
  EXPECT_FALSE(made.definition.outputs.front().every);
  import.outputs = {"other"};
  EXPECT_THAT(error_of(import), HasSubstr("has no output 'other'; there are: y, end"));
}

// Two that keep rows, and of each width one that computes and one that reads all; one puts them together.
TEST_F(OnnxSequence, RowsAroundAStepAreKeptOnce) {
  EXPECT_EQ(converted(of(case_of("sequence_widths"))).definition.lanes.size(), 2U + 2 * 3 + 1);
}

TEST_F(OnnxSequence, TheAxisMayBeNamed) {
  OnnxImport import = of(case_of("sequence_tagger"));
  import.sequences = {{ "x", std::nullopt }};
  EXPECT_EQ(converted(import).definition.unfolding, "lanes");
  import.sequences = {{ "x", 0 }};
  EXPECT_EQ(converted(import).definition.unfolding, "lanes");
  import.sequences = {{ "x", 1 }};
  EXPECT_THAT(error_of(import), HasSubstr("no recurrent layer goes along 'x'"));
  import.sequences = {{ "x", 7 }};
  EXPECT_THAT(error_of(import), HasSubstr("input 'x' has no axis 7"));
  import.sequences = {{ "z", 0 }};
  EXPECT_THAT(error_of(import), HasSubstr("has no input 'z'; there are: x"));
}

// A known length is written out, unless the import says otherwise.
TEST_F(OnnxSequence, AKnownAxisIsOneWhereItIsNamed) {
  OnnxImport import = of(case_of("bidirectional_inside"));
  EXPECT_EQ(converted(import).definition.unfolding, "chain");
  import.sequences = {{ "x", std::nullopt }};
  const ConvertedOnnx made = converted(import);
  EXPECT_EQ(made.definition.unfolding, "lanes");
  EXPECT_EQ(made.definition.inputs.front().shape, Shape{3});
}

TEST_F(OnnxSequence, AGivenShapeClosesTheAxis) {
  OnnxImport import = of(case_of("sequence_lstm"));
  import.shapes = {{ "x", { 5, 1, 3 } }};
  EXPECT_EQ(converted(import).definition.unfolding, "chain");
}

TEST_F(OnnxSequence, AStateThatIsAnInputCanBeAConstant) {
  OnnxImport import;
  for (const auto& one : testing_onnx::golden()["refused"]) {
    if (one["name"] == "sequence_begins") import = of(one);
  }
  EXPECT_THAT(error_of(import), HasSubstr("a state that begins at zero with --set h=0"));
  import.constants = {{ "h", { 0 } }};
  EXPECT_EQ(converted(import).definition.lanes.size(), 2U);
}

TEST_F(OnnxSequence, AGraphWhoseStatesAreNamedIsOfOneStep) {
  OnnxImport import;
  for (const auto& one : testing_onnx::golden()["refused"]) {
    if (one["name"] == "sequence_begins") import = of(one);
  }
  import.states = {{ "h", "y" }};
  EXPECT_THAT(error_of(import), HasSubstr("input 'x' leaves more than one extent open"));
  import.shapes = {{ "x", { 1, 1, 3 } }};
  EXPECT_EQ(converted(import).definition.unfolding, "chain");
}

// Every operator that is read says what it does along a sequence, or is refused there by its name.
TEST(OnnxSteps, RulesAreOfOperatorsThatThereAre) {
  for (const auto* rules : onnx_import::step_rules()) {
    for (const onnx_import::StepRule& rule : *rules) {
      EXPECT_TRUE(onnx_import::find_rule(rule.op) != nullptr || rule.op == "Scan" || rule.op == "Loop")
          << rule.op;
      EXPECT_EQ(onnx_import::find_step_rule(rule.op), &rule) << rule.op << " is there twice";
    }
  }
}

TEST(OpenLength, ANumberAndThePlacesNearIt) {
  using namespace onnx_import;
  for (const std::int64_t rows : {1, 2, 270, 1 << 16}) {
    EXPECT_TRUE(is_open(open_length(rows)));
    EXPECT_EQ(rows_of_open(open_length(rows) - 3), rows);
    EXPECT_EQ(from_the_end(open_length(rows) - 1), -1);
    EXPECT_EQ(from_the_end(open_length(rows) + 5), 5);
    EXPECT_FALSE(is_open(open_length(rows) + (1 << 21))) << "between two of them";
    EXPECT_TRUE(has_open(known_integers({2}, {1, open_length(rows)})));
  }
  EXPECT_FALSE(is_open(kRound));
  EXPECT_FALSE(is_open(-1));
  EXPECT_FALSE(is_open(std::numeric_limits<std::int64_t>::max()));
  EXPECT_FALSE(is_open(std::numeric_limits<std::int32_t>::max()));
  EXPECT_THROW(open_length((1 << 16) + 1), Refusal);
  EXPECT_FALSE(has_open(known_reals({1}, {1})));
}

}  // namespace
}  // namespace volvox
