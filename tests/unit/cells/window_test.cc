#include "cells/ir/window.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cells/ir/infer.h"
#include "cells/model/reference.h"
#include "cells/ops/ops.h"
#include "repository/cell_file.h"
#include "repository/model_toml.h"
#include "tests/unit/cells/windowed_models.h"

namespace volvox {
namespace {

using ::testing::HasSubstr;
using testing_cells::hearing_cell;
using testing_cells::hearing_model;
using testing_cells::Overlap;

std::vector<float> random_stream(std::size_t numbers) {
  Random random(4);
  std::vector<float> stream(numbers);
  for (float& number : stream) number = random.uniform(1.0F);
  return stream;
}

std::vector<double> reference_answer(const std::shared_ptr<const Model>& model,
                                     const std::vector<float>& rows) {
  auto reference = Reference::make(model);
  EXPECT_TRUE(reference) << reference.error().message;
  const auto bytes = std::as_bytes(std::span(rows));
  const auto answer = reference->run(std::span(&bytes, 1));
  EXPECT_TRUE(answer) << answer.error().message;
  return answer ? answer->front().reals : std::vector<double>{};
}

TEST(InputWindow, TheSameAsOverlapsByHand) {
  for (const Overlap& overlap : testing_cells::overlaps()) {
    const auto stream = random_stream(static_cast<std::size_t>(17 * overlap.hop * overlap.inner()));
    const auto windowed = hearing_model(overlap, true, {.eager = false});
    const auto plain = hearing_model(overlap, false, {.eager = false});
    const auto answer = reference_answer(windowed, stream);
    EXPECT_EQ(answer.size(), 17U * 5);
    EXPECT_EQ(answer, reference_answer(plain, testing_cells::by_hand(overlap, stream)))
        << overlap.window << '/' << overlap.hop;
    Shape row = overlap.sample;
    row.insert(row.begin(), overlap.hop);
    EXPECT_EQ(windowed->inputs.front().shape, row) << "what clients send";
  }
}

// What was in front is a state, and so moves, is kept and is given back as states are.
TEST(InputWindow, WhatWasBeforeIsAState) {
  const auto model = hearing_model({.window = 9, .hop = 2}, true);
  ASSERT_EQ(model->pools.size(), 1U);
  const auto& kinds = model->pools[0].kinds;
  const auto before =
      std::find_if(kinds.begin(), kinds.end(), [](const auto& k) { return k.name == "x.before"; });
  ASSERT_NE(before, kinds.end());
  EXPECT_EQ(before->shape, Shape{7});
  EXPECT_EQ(before->initial, 0.0);
}

TEST(InputWindow, ACellWithoutStatesBecomesARecurrentOne) {
  CellBuilder b("sum");
  const ValueId x = b.pull("x", DType::kF32, {4});
  b.push("y", b.apply("add", {b.slice(x, 0, 3), b.slice(x, 1, 4)}));
  auto cell = over_window(b.build().value(), 0, {.samples = 4, .hop = 3});
  ASSERT_TRUE(cell) << cell.error().message;
  ASSERT_TRUE(infer(*cell));
  EXPECT_EQ(cell->gathers, 1U);
  EXPECT_EQ(cell->states.size(), 1U);
}

TEST(InputWindow, OneInputMayBeReadTwiceAndAnotherNot) {
  CellBuilder b("two");
  const ValueId a = b.pull("a", DType::kF32, {4}), other = b.pull("b", DType::kF32, {4});
  const ValueId again = b.pull("a", DType::kF32, {4});
  b.push("y", b.add(b.add(a, other), again));
  auto cell = over_window(b.build().value(), 0, {.samples = 4, .hop = 3});
  ASSERT_TRUE(cell) << cell.error().message;
  ASSERT_TRUE(infer(*cell));
  EXPECT_EQ(cell->pulls, 2U);
  for (const Operator& op : cell->operators) {
    if (!op.is(kPullOp)) continue;
    EXPECT_EQ(cell->values[op.output].shape, Shape{op.index == 0 ? 3 : 4});
  }
  EXPECT_EQ(cell->states.size(), 1U);
}

TEST(InputWindow, BothInputsMayHaveOne) {
  CellBuilder b("two");
  b.push("y", b.add(b.pull("a", DType::kF32, {4}), b.pull("b", DType::kF32, {4})));
  auto cell = over_window(b.build().value(), 0, {.samples = 4, .hop = 3});
  ASSERT_TRUE(cell);
  ASSERT_TRUE(infer(*cell));
  cell = over_window(*cell, 1, {.samples = 4, .hop = 1});
  ASSERT_TRUE(cell);
  ASSERT_TRUE(infer(*cell));
  ASSERT_EQ(cell->states.size(), 2U);
  EXPECT_EQ(cell->states[0].shape, Shape{1});
  EXPECT_EQ(cell->states[1].shape, Shape{3});
}

TEST(InputWindow, AStateOfTheSameNameStays) {
  CellBuilder b("c");
  b.state({"x.before", {2}});
  b.scatter("x.before", b.gather(0, "x.before"));
  b.push("y", b.pull("x", DType::kF32, {4}));
  auto cell = over_window(b.build().value(), 0, {.samples = 4, .hop = 3});
  ASSERT_TRUE(cell);
  ASSERT_TRUE(infer(*cell));
  ASSERT_EQ(cell->states.size(), 2U);
  EXPECT_EQ(cell->states[0].name, "x.before");
  EXPECT_EQ(cell->states[1].name, "x.before_");
}

TEST(InputWindow, ACellThatReadsSomethingElseIsRefused) {
  const auto cell = over_window(*hearing_cell({.window = 6}), 0, {.samples = 7, .hop = 3});
  ASSERT_FALSE(cell);
  EXPECT_EQ(cell.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(cell.error().message, HasSubstr("f32[7]"));
}

// ---- In model.toml ----

std::string toml_with(const std::string& input, const std::string& more = {}) {
  return "name = \"m\"\n" + more +
         "\n[[cell]]\nname = \"hear\"\nkind = \"file\"\n\n[[input]]\nname = \"x\"\n" + input +
         "\n[[output]]\nname = \"y\"\n";
}

Status assembled(const std::string& toml, const Overlap& overlap = {}) {
  auto definition = parse_model_definition(toml, "model.toml");
  if (!definition) return tl::unexpected(definition.error());
  for (CellDefinition& cell : definition->cells) cell.given = hearing_cell(overlap);
  const auto model = assemble(*definition, testing_cells::hearing_weights(overlap), {}, "model.toml");
  if (!model) return tl::unexpected(model.error());
  return {};
}

std::string why_not(const std::string& toml) {
  const Status status = assembled(toml);
  if (status) return "taken";
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(status.error().message, HasSubstr("model.toml:"));
  return status.error().message;
}

TEST(InputWindow, IsSaidInTheDefinition) {
  EXPECT_TRUE(assembled(toml_with("dtype = \"f32\"\nwindow = 6\nhop = 4\n")));
  const Overlap frames{.window = 4, .hop = 1, .sample = {3}};
  EXPECT_TRUE(assembled(toml_with("dtype = \"f32\"\nshape = [3]\nwindow = 4\nhop = 1\n"), frames));
}

TEST(InputWindow, NonsenseIsRefused) {
  const auto with = [](const std::string& input) { return why_not(toml_with("dtype = \"f32\"\n" + input)); };
  EXPECT_THAT(with("window = 6\n"), HasSubstr("hop"));
  EXPECT_THAT(with("shape = [6]\nhop = 4\n"), HasSubstr("window"));
  EXPECT_THAT(with("window = 6\nhop = 6\n"), HasSubstr("below the window"));
  EXPECT_THAT(with("window = 6\nhop = 7\n"), HasSubstr("below the window"));
  EXPECT_THAT(with("window = 6\nhop = 0\n"), HasSubstr("hop"));
  EXPECT_THAT(with("window = -6\nhop = 4\n"), HasSubstr("window"));
  EXPECT_THAT(with("window = 6.5\nhop = 4\n"), HasSubstr("window"));
  EXPECT_THAT(with("window = 7\nhop = 4\n"), HasSubstr("f32[7]"));
  EXPECT_THAT(with("shape = [6]\nwindow = 6\nhop = 4\n"), HasSubstr("f32[6, 6]"));
  EXPECT_THAT(with("shape = [4096]\nwindow = 16777216\nhop = 4\n"), HasSubstr("more than"));
  EXPECT_THAT(why_not(toml_with("window = 6\nhop = 4\n")), HasSubstr("only f32"));
}

TEST(InputWindow, OnlyWhatHasAStepBeforeHasOne) {
  const std::string lanes =
      "unfolding = \"lanes\"\n\n[[lane]]\nname = \"a\"\ncell = \"hear\"\npush = [\"y\"]\n";
  const std::string input = "dtype = \"f32\"\nwindow = 6\nhop = 4\n";
  EXPECT_TRUE(assembled(toml_with(input, lanes)));
  EXPECT_THAT(why_not(toml_with(input, lanes + "reverse = true\n")), HasSubstr("reverse"));
  const std::string two = toml_with(input + "\n[[input]]\nname = \"z\"\ndtype = \"f32\"\nshape = [6]\n",
                                    lanes + "\n[[lane]]\nname = \"b\"\ncell = \"hear\"\nover = \"z\"\n");
  EXPECT_THAT(why_not(two), HasSubstr("one window"));
  const std::string unread =
      toml_with(input + "\n[[input]]\nname = \"z\"\ndtype = \"f32\"\nwindow = 6\nhop = 2\n");
  EXPECT_THAT(why_not(unread), HasSubstr("reads 'z'"));
}

TEST(InputWindow, IsWrittenAsItIsRead) {
  const auto definition =
      parse_model_definition(toml_with("dtype = \"f32\"\nshape = [3]\nwindow = 6\nhop = 4\n"), "f");
  ASSERT_TRUE(definition);
  const auto again = parse_model_definition(to_toml(*definition), "f");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->inputs.front().window, 6);
  EXPECT_EQ(again->inputs.front().hop, 4);
  EXPECT_EQ(again->inputs.front().shape, Shape{3});
}

}  // namespace
}  // namespace volvox
