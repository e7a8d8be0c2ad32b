#include "cells/ir/cell_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cells/ir/infer.h"
#include "cells/library/lstm.h"
#include "cells/library/noop.h"
#include "cells/ops/ops.h"
#include "tests/unit/cells/cells_testing.h"

namespace volvox {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_cells::lstm_weights;
using testing_cells::WeightsMaker;

std::vector<std::string_view> kinds_of(const Cell& cell) {
  std::vector<std::string_view> kinds;
  for (const Operator& op : cell.operators) kinds.push_back(op.def->name);
  return kinds;
}

TEST(CellBuilder, BuildsTheLstmWithAllShapes) {
  const Weights weights = lstm_weights(5, 3);
  const Result<Cell> cell = lstm_cell("lstm", {.input = 5, .hidden = 3}, &weights, "m");
  ASSERT_TRUE(cell) << cell.error().message;
  EXPECT_EQ(cell->gathers, 1U);
  EXPECT_EQ(cell->pulls, 1U);
  EXPECT_EQ(cell->pushes, 1U);
  EXPECT_FALSE(cell->gathers_all);
  EXPECT_THAT(cell->states, ElementsAre(StateKind{"h", {3}}, StateKind{"c", {3}}));
  const std::map<std::string_view, Shape> wanted{{"embed", {5}}, {"product", {12}}, {"slice", {3}}};
  for (const Operator& op : cell->operators) {
    const auto it = wanted.find(op.def->name);
    if (it != wanted.end()) {
      EXPECT_EQ(cell->values[op.output].shape, it->second);
    }
  }
}

TEST(CellBuilder, BuildsTheSameCellWithAndWithoutWeights) {
  const Weights weights = lstm_weights(5, 3);
  const Result<Cell> with = lstm_cell("lstm", {.input = 5, .hidden = 3}, &weights);
  const Result<Cell> without = lstm_cell("lstm", {.input = 5, .hidden = 3});
  ASSERT_TRUE(with && without);
  EXPECT_EQ(kinds_of(*with), kinds_of(*without));
  for (std::size_t v = 0; v < with->values.size(); ++v) {
    EXPECT_EQ(with->values[v].shape, without->values[v].shape) << "value " << v;
  }
}

TEST(CellBuilder, TakesWidthsFromWeights) {
  const Weights weights = lstm_weights(5, 3);
  CellBuilder b("c");
  const ValueId x = b.embed(b.pull("token", DType::kI32), "lstm.embedding");
  b.push("y", b.product({{"lstm.weight_ih", x}}, {.bias = "lstm.bias"}));
  const Result<Cell> cell = b.build(&weights);
  ASSERT_TRUE(cell) << cell.error().message;
  EXPECT_EQ(cell->values[cell->operators.back().inputs[0]].shape, Shape{12});
  const Result<Cell> unknown = b.build();
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("width is neither declared nor known"));
}

TEST(CellBuilder, GathersListsOfKinds) {
  CellBuilder b("c");
  b.state({.name = "h", .shape = {4}}).state({.name = "c", .shape = {2}, .initial = 1.5});
  const auto [h0, c0] = b.gather(0, {"h", "c"});
  const auto [h1] = b.gather(1, {"h"});
  b.scatter("h", b.add(h0, h1));
  b.scatter("c", c0);
  const Result<Cell> cell = b.build();
  ASSERT_TRUE(cell) << cell.error().message;
  EXPECT_EQ(cell->gathers, 2U);
  EXPECT_EQ(cell->states[1].initial, 1.5);
}

TEST(CellBuilder, TheEmptyCellIsEmpty) {
  const Result<Cell> cell = noop_cell("noop");
  ASSERT_TRUE(cell);
  EXPECT_TRUE(cell->operators.empty());
  EXPECT_EQ(cell->pulls + cell->pushes + cell->gathers, 0U);
  EXPECT_TRUE(cell->states.empty());
}

// A builder whose last operator must be refused.
void expect_error(const std::function<void(CellBuilder&)>& write, const std::string& op,
                  const std::string& why, const Weights* weights = nullptr) {
  CellBuilder b("cell");
  b.state({.name = "h", .shape = {4}}).state({.name = "n", .shape = {}, .dtype = DType::kU64});
  write(b);
  const Result<Cell> cell = b.build(weights, "model");
  ASSERT_FALSE(cell) << why;
  EXPECT_EQ(cell.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(cell.error().message,
              AllOf(HasSubstr("model 'model'"), HasSubstr("cell 'cell'"), HasSubstr(op), HasSubstr(why)));
}

TEST(CellBuilder, ErrorsNameModelCellAndOperator) {
  expect_error([](CellBuilder& b) { b.gather(0, "x"); }, "operator 0", "no state 'x' is declared");
  expect_error([](CellBuilder& b) { b.scatter("x", b.gather(0, "h")); }, "operator 1", "no state 'x'");
  expect_error([](CellBuilder& b) { b.add(b.gather(0, "h"), 7); }, "operator 1 (add)", "reads value 7");
  expect_error([](CellBuilder& b) { b.sigmoid(kNoValue); }, "operator 0 (sigmoid)", "reads value");
  expect_error([](CellBuilder& b) { b.sigmoid(b.gather(0, "n")); }, "operator 1 (sigmoid)",
               "u64[], needs f32");
  expect_error([](CellBuilder& b) { b.slice(b.gather(0, "h"), 2, 5); }, "(slice)", "[2, 5) is no part");
  expect_error([](CellBuilder& b) { b.slice(b.gather(0, "h"), 2, 2); }, "(slice)", "is no part");
  expect_error([](CellBuilder& b) { b.slice(b.gather(0, "h"), -1, 2); }, "(slice)", "is no part");
  expect_error([](CellBuilder& b) { b.concat({}); }, "(concat)", "at least one input");
  expect_error([](CellBuilder& b) { b.segment_sum(b.gather(0, "h")); }, "(segment_sum)", "no row for each");
  expect_error([](CellBuilder& b) { b.push("r", b.gather_all("h")); }, "(push r)", "needs a single one");
  expect_error([](CellBuilder& b) { b.hash_all(b.gather(0, "n"), b.pull("t", DType::kI32)); }, "(hash_all)",
               "no row for each predecessor");
  expect_error([](CellBuilder& b) { b.hash(b.gather_all("n"), b.pull("t", DType::kI32)); }, "(hash)",
               "needs a single one");
  expect_error([](CellBuilder& b) { b.hash(b.gather(0, "h"), b.pull("t", DType::kI32)); }, "(hash)",
               "needs u64");
  const Convolution fits{.width = 4, .kernel_width = 2};
  const auto with = [fits](auto change) {
    Convolution c = fits;
    change(c);
    return [c](CellBuilder& b) { b.convolution(b.gather(0, "h"), "w", c); };
  };
  const std::string conv = "(convolution w)";
  expect_error([=](CellBuilder& b) { b.convolution(b.gather(0, "n"), "w", fits); }, conv, "needs f32");
  expect_error([=](CellBuilder& b) { b.convolution(b.gather_all("h"), "w", fits); }, conv,
               "needs a single one");
  expect_error(with([](Convolution& c) { c.channels = 2; }), conv, "has 4 elements, needs 8");
  expect_error(with([](Convolution& c) { c.kernel_width = 5; }), conv, "larger than its input");
  expect_error(with([](Convolution& c) { c.stride[1] = 0; }), conv, "gaps are 1 to");
  expect_error(with([](Convolution& c) { c.padding[0] = -1; }), conv, "padding not negative");
  expect_error(with([](Convolution& c) { c.kernels = 1 << 17; }), conv, "extents");
  const Weights kernels =
      testing_cells::WeightsMaker().add("w", {1, 2}, [](std::size_t) { return 1.0F; }).weights();
  expect_error([=](CellBuilder& b) { b.convolution(b.gather(0, "h"), "w", fits); }, conv,
               "f32[1, 2], needs f32[1, 1, 2]", &kernels);
  expect_error([](CellBuilder& b) { b.argmax(b.gather(0, "n")); }, "(argmax)", "u64[], needs f32");
  expect_error([](CellBuilder& b) { b.argmax(b.gather_all("h")); }, "(argmax)", "needs a single one");
  expect_error([](CellBuilder& b) { b.argmax(b.pull("x", DType::kF32)); }, "(argmax)", "needs a vector");
}

TEST(CellBuilder, ShapesMustAgree) {
  expect_error(
      [](CellBuilder& b) {
        const ValueId h = b.gather(0, "h");
        b.mul(h, b.slice(h, 0, 2));
      },
      "operator 2 (mul)", "shapes [4] and [2]");
  expect_error([](CellBuilder& b) { b.scatter("h", b.slice(b.gather(0, "h"), 0, 2)); }, "(scatter h)",
               "f32[2] here, but f32[4] before");
  expect_error(
      [](CellBuilder& b) {
        b.pull("x", DType::kF32, {3});
        b.pull("x", DType::kF32, {4});
      },
      "(pull x)", "input 0 is f32[4] here, but f32[3] before");
  expect_error([](CellBuilder& b) { b.pull("x", DType::kF32, {0}); }, "(pull x)", "1 to 16777216 elements");
  expect_error(
      [](CellBuilder& b) {
        b.pull("x", DType::kF32, {1 << 20, 1 << 20, 1 << 30});
      },
      "(pull x)", "1 to 16777216 elements");
}

TEST(CellBuilder, ScatteringAnotherShapeThanDeclaredIsAnError) {
  CellBuilder b("cell");
  b.state({.name = "h", .shape = {4}});
  b.scatter("h", b.pull("x", DType::kF32, {3}));
  const Result<Cell> cell = b.build();
  ASSERT_FALSE(cell);
  EXPECT_THAT(cell.error().message, HasSubstr("not how the state is declared"));
}

TEST(CellBuilder, BoundsAreEnforced) {
  expect_error([](CellBuilder& b) { b.gather(kMaxGathers, "h"); }, "(gather h)",
               "predecessor 4 is out of range");
  expect_error(
      [](CellBuilder& b) {
        for (const char* name : {"a", "b", "c"}) b.pull(name, DType::kI32);
      },
      "operator 2 (pull c)", "input 2 is out of range");
  expect_error(
      [](CellBuilder& b) {
        const ValueId h = b.gather(0, "h");
        for (const char* name : {"a", "b", "c"}) b.push(name, h);
      },
      "operator 3 (push c)", "result 2 is out of range");
  expect_error(
      [](CellBuilder& b) {
        const ValueId h = b.gather(0, "h");
        b.scatter("h", h);
        b.scatter("h", h);
      },
      "operator 2 (scatter h)", "published twice");
}

TEST(CellBuilder, WeightsMustBeThereAndFit) {
  const auto product = [](const char* weight, const char* bias) {
    return [=](CellBuilder& b) { b.product({{weight, b.gather(0, "h")}}, {.bias = bias}); };
  };
  WeightsMaker maker;
  const auto zero = [](std::size_t) { return 0.0F; };
  maker.add("w", {6, 4}, zero).add("narrow", {6, 3}, zero).add("vector", {4}, zero).add("b", {6}, zero);
  const Weights weights = maker.weights();
  expect_error(product("none", "b"), "(product none b)", "'none' is missing", &weights);
  expect_error(product("w", "none"), "(product w none)", "no weight 'none'", &weights);
  expect_error(product("narrow", "b"), "(product narrow b)", "f32[6, 3], needs f32[6, 4]", &weights);
  expect_error(product("vector", "b"), "(product vector b)", "no matrix", &weights);
  expect_error(product("w", "vector"), "(product w vector)", "f32[4], needs f32[6]", &weights);
  expect_error(
      [](CellBuilder& b) {
        b.product({{"w", b.gather(0, "h")}}, {.width = 5});
      },
      "(product w)", "gives 6 elements, declared are 5", &weights);
  expect_error([](CellBuilder& b) { b.product({}, {.width = 5}); }, "(product)", "at least one weight",
               &weights);
  expect_error(
      [](CellBuilder& b) {
        const ValueId h = b.gather(0, "h");
        b.product({{"w", h}, {"w", h}, {"w", h}, {"w", h}, {"w", h}}, {.width = 6});
      },
      "(product w w w w w)", "multiplies 5 operands, may multiply 4", &weights);
  expect_error([](CellBuilder& b) { b.embed(b.gather(0, "n"), "w"); }, "(embed w)", "needs i32", &weights);
}

TEST(CellBuilder, AProductStartsInOneWayOnly) {
  expect_error(
      [](CellBuilder& b) {
        const ValueId h = b.gather(0, "h");
        b.product({{"w", h}}, {.bias = "b", .value = h, .width = 4});
      },
      "(product w b)", "not from both");
  expect_error(
      [](CellBuilder& b) {
        const ValueId h = b.gather(0, "h");
        b.product({{"w", h}}, {.value = b.slice(h, 0, 2), .width = 4});
      },
      "(product w)", "its start has 2 elements, needs 4");
}

TEST(Infer, RefusesWhatABuilderCannotMake) {
  Cell cell;
  cell.name = "c";
  cell.values.resize(2);
  cell.operators.push_back({.def = &kPullOp, .name = "x", .output = 0});
  EXPECT_THAT(infer(cell).error().message, HasSubstr("nothing produces value 1"));
  cell.operators.push_back({.def = &kPullOp, .name = "x", .output = 0});
  EXPECT_THAT(infer(cell).error().message, HasSubstr("already produced"));
  cell.operators[1] = {.def = &kScatterOp, .inputs = {0}, .name = "s", .output = 1};
  EXPECT_THAT(infer(cell).error().message, HasSubstr("has no value"));
  cell.operators[1] = {.def = &kAddOp, .inputs = {0}, .output = 1};
  EXPECT_THAT(infer(cell).error().message, HasSubstr("has 1 inputs, needs 2"));
  cell.operators[1] = {.def = &kTanhOp, .inputs = {0}, .output = 9};
  EXPECT_THAT(infer(cell).error().message, HasSubstr("no value of this cell"));
  cell.operators[1] = {.def = nullptr, .output = 1};
  EXPECT_THAT(infer(cell).error().message, HasSubstr("no known kind"));
}

TEST(CellBuilder, OperatorsByNameMustExistAndCompute) {
  for (const char* name : {"frob", "gather", "push", ""}) {
    CellBuilder b("c");
    const ValueId x = b.pull("x", DType::kF32, {4});
    b.push("y", b.tanh(b.apply(name, {x})));
    const auto cell = b.build();
    ASSERT_FALSE(cell) << name;
    EXPECT_THAT(cell.error().message,
                HasSubstr("operator 1: there is no operator '" + std::string(name) + "'"));
  }
}

TEST(Infer, RepeatingItChangesNothing) {
  Result<Cell> cell = lstm_cell("lstm", {.input = 5, .hidden = 3});
  ASSERT_TRUE(cell);
  Cell again = *cell;
  ASSERT_TRUE(infer(again));
  EXPECT_EQ(again.states, cell->states);
  EXPECT_EQ(again.gathers, cell->gathers);
  EXPECT_EQ(again.pushes, cell->pushes);
}

}  // namespace
}  // namespace volvox
