// Each operator's definition against the same computed once more, and what it does not take.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cells/ops/top_k.h"
#include "tests/unit/cells/op_cases.h"

namespace volvox {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_cells::Numbers;
using testing_cells::op_cases;
using testing_cells::OpBatch;
using testing_cells::OpCase;

TEST(Ops, EachThatComputesHasACase) {
  std::set<std::string_view> names{"hash", "hash_all"};  // no arithmetic; check models are their test
  for (const OpCase& one : op_cases()) names.insert(one.op);
  for (const OpDef* op : op_defs()) {
    EXPECT_NE(op->says, "") << op->name;
    EXPECT_TRUE(op->evaluate_f32 == nullptr || names.count(op->name) == 1) << op->name << " has no case";
  }
}

Numbers numbers_of(const std::vector<std::byte>& bytes, DType dtype) {
  Numbers numbers;
  const std::size_t each = dtype == DType::kF32 ? sizeof(double) : sizeof(std::int32_t);
  for (std::size_t at = 0; at < bytes.size(); at += each) {
    double real = 0;
    std::int32_t integer = 0;
    std::memcpy(dtype == DType::kF32 ? static_cast<void*>(&real) : &integer, bytes.data() + at, each);
    numbers.push_back(dtype == DType::kF32 ? real : integer);
  }
  return numbers;
}

TEST(Ops, InDoublePrecisionAreWhatTheSameComputedOnceMoreIs) {
  constexpr std::uint32_t kRows = 12;
  for (const OpCase& one : op_cases()) {
    const OpBatch batch(one, kRows);
    const Numbers got = numbers_of(batch.in_evaluator<double, StdMath<double>>(), batch.result().dtype);
    const std::vector<Numbers> want = batch.want();
    ASSERT_EQ(got.size(), kRows * batch.result_elements()) << one.op;
    for (std::size_t k = 0; k < got.size(); ++k) {
      const Numbers& row = want[k / batch.result_elements()];
      ASSERT_EQ(row.size(), batch.result_elements()) << one.op;
      const double wanted = row[k % batch.result_elements()];
      ASSERT_NEAR(got[k], wanted, 1e-12 * std::max(1.0, std::abs(wanted))) << one.op << ", element " << k;
    }
  }
}

// What build() says of a cell that applies `op` to pulled values of these shapes.
std::string refusal(const std::string& op, const std::vector<Shape>& shapes, Attributes attributes = {},
                    std::vector<std::string> weights = {}, DType dtype = DType::kF32) {
  CellBuilder b("cell");
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    inputs.push_back(b.gather(static_cast<std::uint32_t>(i), "x", shapes[i], dtype));
  }
  b.push("y", b.apply(op, inputs, std::move(attributes), std::move(weights)));
  const auto cell = b.build();
  return cell ? "" : cell.error().message;
}

TEST(Ops, SayWhatTheyDoNotTake) {
  const auto says = [](const std::string& op, const std::string& what) {
    return AllOf(HasSubstr("cell 'cell', operator "), HasSubstr("(" + op), HasSubstr(what));
  };
  const Shape x{3, 4};
  EXPECT_THAT(refusal("sub", {{3}, {4}}), says("sub", "shapes [3] and [4]"));
  EXPECT_THAT(refusal("less", {{2, 3}, {2}}), says("less", "shapes [2, 3] and [2]"));
  EXPECT_THAT(refusal("exp", {x}, {}, {}, DType::kI32), says("exp", "input 0 is i32[3, 4], needs f32"));
  EXPECT_THAT(refusal("clamp", {x}, {.reals = {1}}), says("clamp", "has 1 real attributes, needs 2"));
  EXPECT_THAT(refusal("pow", {x}), says("pow", "has 0 real attributes, needs 1"));
  EXPECT_THAT(refusal("select", {x, x}), says("select", "has 2 inputs, needs 3"));
  EXPECT_THAT(refusal("select", {x, x, {3}}), says("select", "shapes [3, 4] and [3]"));
  EXPECT_THAT(refusal("softmax", {{}}), says("softmax", "input 0 is a scalar, needs an axis"));
  EXPECT_THAT(refusal("layer_norm", {x}, {.reals = {1e-5}}, {"w"}),
              says("layer_norm", "has 1 weights, needs 2"));
  EXPECT_THAT(refusal("reduce_sum", {x}, {.integers = {2}}), says("reduce_sum", "axis 2 is none of [3, 4]"));
  EXPECT_THAT(refusal("reduce_max", {x}, {.integers = {-1}}), says("reduce_max", "axis -1 is none"));
  EXPECT_THAT(refusal("segment_max", {x}), says("segment_max", "no row for each predecessor"));
  EXPECT_THAT(refusal("segment_softmax", {x}), says("segment_softmax", "no row for each predecessor"));
  EXPECT_THAT(refusal("dot", {{3}, {4}}), says("dot", "differ in the last axis"));
  EXPECT_THAT(refusal("matmul", {x, x}), says("matmul", "the columns of the one"));
  EXPECT_THAT(refusal("matmul", {x, {4}}), says("matmul", "input 1 has the shape [4]"));
  EXPECT_THAT(refusal("transpose", {x}, {.integers = {1, 1}}), says("transpose", "takes axis 1 twice"));
  EXPECT_THAT(refusal("transpose", {x}, {.integers = {1}}),
              says("transpose", "1 integer attributes, needs 2"));
  EXPECT_THAT(refusal("reshape", {x}, {.integers = {5}}), says("reshape", "different numbers of elements"));
  EXPECT_THAT(refusal("reshape", {x}, {.integers = {-1, 12}}), says("reshape", "has the shape [-1, 12]"));
  EXPECT_THAT(refusal("reshape", {{1}}, {.integers = {1, 1, 1, 1, 1, 1, 1, 1, 1}}),
              says("reshape", "9 integer attributes, needs 0 to 8"));
  EXPECT_THAT(refusal("pad", {x}, {.integers = {0, 0, 0, -1}, .reals = {0}}), says("pad", "cannot add -1"));
  EXPECT_THAT(refusal("pad_reflect", {x}, {.integers = {3, 0, 0, 0}}),
              says("pad_reflect", "cannot add 3 elements to an axis of 3"));
  EXPECT_THAT(refusal("slice_axis", {x}, {.integers = {1, 2, 5}}),
              says("slice_axis", "no part of an axis of 4"));
  EXPECT_THAT(refusal("concat_axis", {x, {3, 5, 1}}, {.integers = {1}}), says("concat_axis", "shapes"));
  EXPECT_THAT(refusal("concat_axis", {x, {2, 5}}, {.integers = {1}}), says("concat_axis", "shapes"));
  EXPECT_THAT(refusal("argmax_axis", {x}, {.integers = {2}}), says("argmax_axis", "axis 2"));
  EXPECT_THAT(refusal("top_k", {x}, {.integers = {5}}), says("top_k", "no 5 largest of 4"));
  EXPECT_THAT(refusal("top_k_indices", {x}, {.integers = {0}}), says("top_k_indices", "no 0 largest"));
  EXPECT_THAT(refusal("linear", {x, {2, 4}}, {}, {"w", "u"}),
              says("linear", "its width is neither declared"));
  EXPECT_THAT(refusal("draw", {x, {}}), says("draw", "needs a vector"));
  EXPECT_THAT(refusal("draw", {{4}, {1}}), says("draw", "input 1 has the shape [1], needs []"));
  EXPECT_THAT(refusal("uniform", {{}, {}}, {.integers = {0}}),
              says("uniform", "input 0 is f32[], needs i32"));
  EXPECT_THAT(refusal("uniform", {{}, {2}}, {.integers = {0}}, {}, DType::kI32),
              says("uniform", "input 1 has the shape [2]"));
  EXPECT_THAT(refusal("take", {x, {2}}, {.integers = {0}}), says("take", "input 1 is f32[2], needs i32"));
  EXPECT_THAT(refusal("take", {x, {2}}, {.integers = {2}}, {}, DType::kI32), says("take", "axis 2"));
  EXPECT_THAT(refusal("hold", {x, {4}}, {.integers = {0}}), says("hold", "a number for each of its rows"));
  EXPECT_THAT(refusal("hold", {x, {3}}, {.integers = {4}}), says("hold", "no element 4 in rows of 4"));
  EXPECT_THAT(refusal("unravel", {x}, {.integers = {3}}), says("unravel", "needs i32"));
  EXPECT_THAT(refusal("unravel", {x}, {.integers = {3, 0}}, {}, DType::kI32), says("unravel", "no elements"));
  EXPECT_THAT(refusal("to_f32", {x}), says("to_f32", "needs i32"));
  EXPECT_THAT(refusal("constant", {}, {.integers = {2}, .reals = {1, 2, 3}}),
              says("constant", "has 3 numbers"));
  EXPECT_THAT(refusal("constant", {}, {.integers = {2}, .reals = {1}}, {"w"}), says("constant", "not both"));
  EXPECT_THAT(refusal("constant", {}, {.integers = {0}, .reals = {1}}),
              says("constant", "has the shape [0]"));
  CellBuilder b("cell");
  const std::array x2{b.pull("x", DType::kF32, {2, 3}), b.pull("y", DType::kF32, {3, 3})};
  b.push("z", b.linear({{"w", x2[0]}, {"u", x2[1]}}, {.width = 4}));
  EXPECT_THAT(b.build().error().message, HasSubstr("all axes but the last must agree"));
}

std::string window_refusal(const Convolution& c, bool pools) {
  CellBuilder b("cell");
  const ValueId x = b.pull("x", DType::kF32, {24});
  b.push("y", pools ? b.pool("max_pool", x, c) : b.convolution(x, "w", c));
  const auto cell = b.build();
  return cell ? "" : cell.error().message;
}

TEST(Ops, SayWhatWindowsDoNotFit) {
  EXPECT_THAT(window_refusal({.channels = 4, .width = 6, .kernels = 3, .groups = 2}, false),
              HasSubstr("4 channels and 3 kernels do not fall into 2 equal groups"));
  EXPECT_THAT(window_refusal({.channels = 4, .width = 6, .kernel_width = 3, .dilation = {1, 3}}, false),
              HasSubstr("its kernel is larger than its input"));
  EXPECT_THAT(window_refusal({.width = 24, .dilation = {1, 0}}, false), HasSubstr("gaps are 1 to"));
  EXPECT_THAT(window_refusal({.channels = 5, .width = 5}, true), HasSubstr("has 24 elements, needs 25"));
  EXPECT_THAT(window_refusal({.width = 24, .kernel_width = 2, .padding = {0, 2}}, true),
              HasSubstr("its padding is as large as its window"));
  EXPECT_EQ(window_refusal({.channels = 4, .width = 6, .kernels = 6, .groups = 2}, false), "");
}

TEST(Ops, FindsManyOfManyInOrder) {
  std::vector<float> x(5000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7919 % 1000);
  std::vector<std::int32_t> wanted(x.size());
  std::iota(wanted.begin(), wanted.end(), 0);
  std::ranges::stable_sort(wanted, std::greater{}, [&](std::int32_t i) { return x[i]; });
  for (const std::size_t k : {1U, 64U, 2500U, 5000U}) {
    std::vector<std::int32_t> best(k);
    find_top(x.data(), x.size(), k, best.data());
    EXPECT_TRUE(std::ranges::equal(best, std::span(wanted).first(k))) << k;
  }
}

// A NaN in a list of numbers takes none of their places.
TEST(Ops, NansComeLast) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const Numbers x{1, kNan, 3, kNan, 3, -2};
  CellBuilder b("c");
  const ValueId in = b.apply("constant", {}, {.integers = {6}, .reals = x});
  b.push("i", b.apply("top_k_indices", {in}, {.integers = {6}}));
  const Cell cell = b.build().value();
  const CellProgram program = CellProgram::make(cell, {}).value();
  CellEvaluator<float> evaluator(program);
  std::vector<std::int32_t> order(6);
  CellRow row;
  row.pushes[0] = order.data();
  evaluator.run(row);
  EXPECT_THAT(order, testing::ElementsAre(2, 4, 0, 5, 1, 3));
}

}  // namespace
}  // namespace volvox
