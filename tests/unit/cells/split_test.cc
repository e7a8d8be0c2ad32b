#include "cells/ir/split.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cells/ir/cell_builder.h"
#include "cells/library/check.h"
#include "cells/library/lstm.h"
#include "cells/library/noop.h"
#include "cells/ops/ops.h"
#include "tests/unit/cells/cells_testing.h"
#include "tests/unit/cells/row_runner.h"

namespace volvox {
namespace {

using testing::ElementsAre;
using testing_cells::lstm_weights;
using testing_cells::NodeResult;
using testing_cells::NodeState;
using testing_cells::RowRunner;
using testing_cells::WeightsMaker;

const Operator* find_op(const Cell& cell, const OpDef& kind) {
  for (const Operator& op : cell.operators) {
    if (op.is(kind)) return &op;
  }
  return nullptr;
}

TEST(SplitCell, LstmIsCutInTheMiddleOfItsProduct) {
  const Result<SplitCell> split = split_cell(*lstm_cell("lstm", {.input = 5, .hidden = 3}));
  ASSERT_TRUE(split) << split.error().message;
  ASSERT_TRUE(split->eager);
  const Cell &eager = *split->eager, &core = split->core;
  EXPECT_EQ(eager.name, "lstm.eager");
  EXPECT_EQ(core.name, "lstm");
  ASSERT_EQ(eager.operators.size(), 4U);  // pull, embed, product, scatter
  EXPECT_EQ(eager.pulls, 1U);
  EXPECT_EQ(eager.gathers + eager.pushes, 0U);
  EXPECT_THAT(find_op(eager, kProductOp)->weights, ElementsAre("lstm.weight_ih", "lstm.bias"));
  EXPECT_TRUE(find_op(eager, kProductOp)->has_bias);
  ASSERT_EQ(eager.states.size(), 1U);
  EXPECT_EQ(eager.states[0].shape, Shape{12});

  EXPECT_EQ(split->gather, 1U);
  EXPECT_EQ(core.gathers, 2U);
  EXPECT_EQ(core.pulls, 0U);
  EXPECT_EQ(core.pushes, 1U);
  const Operator* product = find_op(core, kProductOp);
  EXPECT_THAT(product->weights, ElementsAre("lstm.weight_hh"));
  EXPECT_TRUE(product->has_start);
  EXPECT_FALSE(product->has_bias);
  const Operator* start = core.producer(product->inputs.back());
  EXPECT_TRUE(start->is(kGatherOp));
  EXPECT_EQ(start->index, 1U);
  EXPECT_EQ(start->name, eager.states[0].name);
  EXPECT_THAT(start->name, testing::StartsWith("lstm."));
  EXPECT_EQ(core.states, (std::vector<StateKind>{{"h", {3}}, {"c", {3}}}));
}

TEST(SplitCell, SplittingAPartAgainChangesNothing) {
  const Result<SplitCell> split = split_cell(*lstm_cell("lstm", {.input = 5, .hidden = 3}));
  for (const Cell& part : {*split->eager, split->core}) {
    const Result<SplitCell> again = split_cell(part);
    ASSERT_TRUE(again);
    EXPECT_FALSE(again->eager) << part.name;
    EXPECT_EQ(again->core.operators.size(), part.operators.size());
  }
}

TEST(SplitCell, CellsWithNothingEagerStayWhole) {
  for (const Result<Cell>& cell : {noop_cell("noop"), check_cell("check")}) {
    const Result<SplitCell> split = split_cell(*cell);
    ASSERT_TRUE(split);
    EXPECT_FALSE(split->eager) << cell->name;
    EXPECT_EQ(split->core.operators.size(), cell->operators.size());
  }
}

// A layer of a stack: what it gathers of the one below is given, its own state is not.
TEST(SplitCell, AGivenGatherIsComputedAhead) {
  const Result<Cell> layer = lstm_layer_cell("layer", {.input = 5, .hidden = 3});
  ASSERT_TRUE(layer) << layer.error().message;
  EXPECT_FALSE(split_cell(*layer)->eager) << "nothing is given";
  const Result<SplitCell> split = split_cell(*layer, {false, true});
  ASSERT_TRUE(split) << split.error().message;
  ASSERT_TRUE(split->eager);
  const auto gathers = [](const Cell& cell) {
    std::vector<std::uint32_t> indices;
    for (const Operator& op : cell.operators) {
      if (op.is(kGatherOp)) indices.push_back(op.index);
    }
    std::sort(indices.begin(), indices.end());
    indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
    return indices;
  };
  EXPECT_EQ(gathers(*split->eager), std::vector<std::uint32_t>{1});
  EXPECT_EQ(gathers(split->core), (std::vector<std::uint32_t>{0, 2}));
  EXPECT_EQ(split->gather, 2U);
}

TEST(SplitCell, StatesFirstIsACut_NowhereInTheChain) {
  CellBuilder b("c");
  b.state({.name = "h", .shape = {3}});
  const ValueId x = b.pull("x", DType::kF32, {2});
  b.scatter("h", b.product({{"u", b.gather(0, "h")}, {"w", x}}, {.width = 3}));
  const Result<SplitCell> split = split_cell(*b.build());
  ASSERT_TRUE(split);
  EXPECT_FALSE(split->eager);  // a chain from the state on cannot be cut in front of it
}

TEST(SplitCell, NoGatherLeftMeansNoSplit) {
  CellBuilder b("c");
  b.state({.name = "h", .shape = {3}});
  ValueId sum = b.product({{"w", b.pull("x", DType::kF32, {2})}}, {.width = 3});
  for (std::uint32_t i = 0; i < kMaxGathers; ++i) sum = b.add(sum, b.gather(i, "h"));
  b.scatter("h", sum);
  const Result<SplitCell> split = split_cell(*b.build());
  ASSERT_TRUE(split);
  EXPECT_FALSE(split->eager);
}

// Runs a chain through the whole cell and through its parts; every state must be the same to the bit.
void expect_same_bits(const Cell& cell, const Weights& weights,
                      const std::vector<std::vector<const void*>>& steps) {
  const Result<SplitCell> split = split_cell(cell);
  ASSERT_TRUE(split) << split.error().message;
  ASSERT_TRUE(split->eager);
  RowRunner<float> whole(cell, weights), eager(*split->eager, weights), core(split->core, weights);
  NodeState a, b;
  const NodeState* before_a = nullptr;
  const NodeState* before_b = nullptr;
  for (const std::vector<const void*>& inputs : steps) {
    const NodeResult at_once = whole.run({before_a}, inputs);
    const NodeResult first = eager.run({}, inputs);
    std::vector<const NodeState*> predecessors(split->gather + 1, nullptr);
    if (split->gather > 0) predecessors[0] = before_b;
    predecessors[split->gather] = &first.states;
    std::vector<const NodeState*> list;
    const NodeResult second = core.run(predecessors, inputs, list);
    ASSERT_EQ(at_once.states, second.states);
    ASSERT_EQ(at_once.pushes, second.pushes);
    a = at_once.states;
    b = second.states;
    before_a = &a;
    before_b = &b;
  }
}

TEST(SplitCell, LstmComputesTheSameBits) {
  const Weights weights = lstm_weights(19, 23);
  const std::vector<std::int32_t> tokens{3, 1, 4, 1, 5, 9, 2, 6};
  std::vector<std::vector<const void*>> steps;
  for (const std::int32_t& token : tokens) steps.push_back({&token});
  expect_same_bits(*lstm_cell("lstm", {.input = 19, .hidden = 23}), weights, steps);
}

// Products that are wholly eager, partly eager, started by an eager value, and not eager at all; an eager
// value that is pushed, a pulled one that the core needs itself.
TEST(SplitCell, MixedCellComputesTheSameBits) {
  Random random(3);
  WeightsMaker maker;
  maker.add_random("a", {6, 4}, random).add_random("b", {6, 6}, random).add_random("u", {6, 6}, random);
  maker.add_random("bias", {6}, random);
  const Weights weights = maker.weights();
  CellBuilder b("mixed");
  b.state({.name = "h", .shape = {6}});
  const ValueId x = b.pull("x", DType::kF32, {4}), y = b.pull("y", DType::kF32, {6});
  const ValueId h = b.gather(0, "h");
  const ValueId first = b.tanh(b.product({{"a", x}}, {.bias = "bias"}));
  const ValueId second = b.product({{"a", x}, {"b", first}, {"u", h}}, {.value = first});
  const ValueId third = b.product({{"u", h}, {"b", y}}, {.value = second});
  const ValueId fourth = b.product({{"b", y}, {"u", h}}, {.value = h});
  const ValueId fifth = b.product({{"a", x}, {"u", h}}, {.value = b.sigmoid(y)});
  const ValueId next = b.tanh(b.add(b.mul(third, y), b.add(first, b.mul(fourth, fifth))));
  b.scatter("h", next);
  b.push("first", first);
  b.push("h", next);
  const Result<Cell> cell = b.build(&weights);
  ASSERT_TRUE(cell) << cell.error().message;
  const Result<SplitCell> split = split_cell(*cell);
  ASSERT_TRUE(split && split->eager);
  EXPECT_EQ(split->eager->states.size(), 3U);  // first, and the middles of second and fifth
  std::vector<float> data(40);
  for (float& v : data) v = random.normal();
  std::vector<std::vector<const void*>> steps;
  for (std::size_t t = 0; t < 4; ++t) steps.push_back({data.data() + 4 * t, data.data() + 6 * t + 3});
  expect_same_bits(*cell, weights, steps);
}

// A token that depends on inputs alone is found eagerly, and carried as an integer.
TEST(SplitCell, CarriesAnArgmaxOfInputs) {
  Random random(6);
  WeightsMaker maker;
  maker.add_random("logits", {9, 4}, random).add_random("table", {9, 5}, random);
  const Weights weights = maker.weights();
  CellBuilder b("greedy");
  b.state({.name = "h", .shape = {5}}).state({.name = "token", .dtype = DType::kI32});
  const auto [h, before] = b.gather(0, {"h", "token"});
  const ValueId token = b.argmax(b.product({{"logits", b.pull("x", DType::kF32, {4})}}, {}));
  b.scatter("h", b.tanh(b.add(b.add(b.embed(token, "table"), b.embed(before, "table")), h)));
  b.scatter("token", token);
  const Result<Cell> cell = b.build(&weights);
  ASSERT_TRUE(cell) << cell.error().message;
  const Result<SplitCell> split = split_cell(*cell);
  ASSERT_TRUE(split && split->eager);
  EXPECT_EQ(find_op(split->core, kArgmaxOp), nullptr);
  const auto& carried = split->eager->states;
  EXPECT_EQ(std::count_if(carried.begin(), carried.end(),
                          [](const StateKind& state) { return state.dtype == DType::kI32; }),
            1);
  std::vector<float> data(24);
  for (float& v : data) v = random.normal();
  std::vector<std::vector<const void*>> steps;
  for (std::size_t t = 0; t < 6; ++t) steps.push_back({data.data() + 4 * t});
  expect_same_bits(*cell, weights, steps);
}

// Neither is handed from part to part.
TEST(SplitCell, EachPartHasItsOwnConstants) {
  Random random(3);
  WeightsMaker maker;
  maker.add_random("w", {3, 2}, random).add_random("u", {3, 3}, random);
  const Weights weights = maker.weights();
  CellBuilder b("c");
  b.state({.name = "h", .shape = {3}});
  const ValueId half = b.constant(0.5);
  const ValueId x = b.mul(b.product({{"w", b.pull("x", DType::kF32, {2})}}, {}), half);
  const ValueId h = b.product({{"u", b.gather(0, "h")}}, {.value = b.apply("exp", {x})});
  b.scatter("h", b.tanh(b.mul(h, half)));
  const Cell cell = b.build(&weights).value();
  const SplitCell split = split_cell(cell).value();
  ASSERT_TRUE(split.eager);
  EXPECT_EQ(split.eager->states.size(), 1U);
  EXPECT_NE(find_op(*split.eager, kConstantOp), nullptr);
  EXPECT_NE(find_op(*split.eager, kExpOp), nullptr);
  EXPECT_NE(find_op(split.core, kConstantOp), nullptr);
  const std::vector<float> one{1, -2}, two{0.5F, 3};
  expect_same_bits(cell, weights, {{one.data()}, {two.data()}, {one.data()}});
}

}  // namespace
}  // namespace volvox
