#include "cells/ir/evaluate.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cells/ir/cell_builder.h"
#include "cells/ir/check_hash.h"
#include "cells/library/check.h"
#include "cells/library/lstm.h"
#include "tests/unit/cells/by_hand.h"
#include "tests/unit/cells/cells_testing.h"
#include "tests/unit/cells/row_runner.h"

namespace volvox {
namespace {

using testing::ElementsAre;
using testing_cells::dot;
using testing_cells::lstm_weights;
using testing_cells::NodeResult;
using testing_cells::NodeState;
using testing_cells::RowRunner;
using testing_cells::sigmoid;
using testing_cells::table_row;
using testing_cells::values_of;
using testing_cells::WeightsMaker;

struct Recurrent {
  std::vector<double> h, c;
};

// The LSTM's equations as cells/library/lstm.h states them.
Recurrent lstm_by_hand(const Weights& weights, const Recurrent& before, std::size_t token) {
  const auto& w = weights.all();
  const std::size_t n = before.h.size();
  const std::vector<double> x = table_row(w.at("lstm.embedding"), token);
  std::vector<double> z(4 * n);
  for (std::size_t j = 0; j < 4 * n; ++j) {
    z[j] = w.at("lstm.bias").f32()[j] + dot(w.at("lstm.weight_ih"), j, x) +
           dot(w.at("lstm.weight_hh"), j, before.h);
  }
  Recurrent after{std::vector<double>(n), std::vector<double>(n)};
  for (std::size_t j = 0; j < n; ++j) {
    after.c[j] = sigmoid(z[n + j]) * before.c[j] + sigmoid(z[j]) * std::tanh(z[2 * n + j]);
    after.h[j] = sigmoid(z[3 * n + j]) * std::tanh(after.c[j]);
  }
  return after;
}

void expect_close(const std::vector<std::byte>& got, const std::vector<double>& wanted, double tolerance) {
  const auto values = values_of<double>(got);
  ASSERT_EQ(values.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(values[i], wanted[i], tolerance) << "element " << i;
}

TEST(CellEvaluator, LstmFollowsItsEquations) {
  const Weights weights = lstm_weights(5, 7);
  RowRunner<double> runner(*lstm_cell("lstm", {.input = 5, .hidden = 7}), weights);
  Recurrent wanted{std::vector<double>(7), std::vector<double>(7)};
  NodeResult node;
  const NodeState* before = nullptr;
  NodeState state;
  for (const std::int32_t token : {3, 9, 0, 3}) {
    node = runner.run({before}, {&token});
    wanted = lstm_by_hand(weights, wanted, static_cast<std::size_t>(token));
    expect_close(node.states.at("h"), wanted.h, 1e-12);
    expect_close(node.states.at("c"), wanted.c, 1e-12);
    EXPECT_EQ(node.pushes.at("h"), node.states.at("h"));
    state = node.states;
    before = &state;
  }
}

TEST(CellEvaluator, FloatIsCloseToDouble) {
  const Weights weights = lstm_weights(33, 65);
  const Cell cell = *lstm_cell("lstm", {.input = 33, .hidden = 65});
  RowRunner<double> exact(cell, weights);
  RowRunner<float> single(cell, weights);
  const std::int32_t token = 4;
  const auto a = values_of<double>(exact.run({nullptr}, {&token}).states.at("h"));
  const auto b = values_of<float>(single.run({nullptr}, {&token}).states.at("h"));
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6);
}

// Terms in order, ascending k, from the bias: what every device must compute, bit for bit.
TEST(CellEvaluator, AProductIsOneChainOfFusedMultiplyAdds) {
  Random random(5);
  WeightsMaker maker;
  maker.add_random("a", {3, 40}, random).add_random("b", {3, 17}, random).add_random("bias", {3}, random);
  const Weights weights = maker.weights();
  CellBuilder builder("c");
  const ValueId x = builder.pull("x", DType::kF32, {40}), y = builder.pull("y", DType::kF32, {17});
  builder.push("z", builder.product({{"a", x}, {"b", y}}, {.bias = "bias"}));
  RowRunner<float> runner(*builder.build(&weights), weights);
  std::vector<float> xs(40), ys(17);
  for (float& v : xs) v = random.normal();
  for (float& v : ys) v = random.normal();
  const auto z = values_of<float>(runner.run({}, {xs.data(), ys.data()}).pushes.at("z"));
  for (std::size_t j = 0; j < 3; ++j) {
    float sum = weights.find("bias")->f32()[j];
    for (std::size_t k = 0; k < 40; ++k) sum = std::fma(weights.find("a")->f32()[j * 40 + k], xs[k], sum);
    for (std::size_t k = 0; k < 17; ++k) sum = std::fma(weights.find("b")->f32()[j * 17 + k], ys[k], sum);
    EXPECT_EQ(z[j], sum);
  }
}

TEST(CellEvaluator, ElementwiseOperators) {
  CellBuilder b("c");
  const ValueId x = b.pull("x", DType::kF32, {4}), y = b.pull("y", DType::kF32, {4});
  b.push("r", b.concat({b.add(x, y), b.mul(x, y), b.mul_add(x, y, x), b.slice(y, 1, 3)}));
  b.push("s", b.concat({b.sigmoid(x), b.tanh(x)}));
  RowRunner<float> runner(*b.build(), Weights{});
  const std::vector<float> xs{1, 2, -3, 0}, ys{5, 0.5F, 2, 7};
  const NodeResult node = runner.run({}, {xs.data(), ys.data()});
  EXPECT_THAT(values_of<float>(node.pushes.at("r")),
              ElementsAre(6, 2.5F, -1, 7, 5, 1, -6, 0, 6, 3, -9, 0, 0.5F, 2));
  const auto s = values_of<float>(node.pushes.at("s"));
  EXPECT_FLOAT_EQ(s[0], 0.7310586F);
  EXPECT_FLOAT_EQ(s[3], 0.5F);
  EXPECT_FLOAT_EQ(s[6], -0.9950548F);
}

template <class Real>
std::int32_t argmax_of(const std::vector<float>& x) {
  CellBuilder b("c");
  b.push("k", b.argmax(b.pull("x", DType::kF32, {static_cast<std::int64_t>(x.size())})));
  RowRunner<Real> runner(*b.build(), Weights{});
  return values_of<std::int32_t>(runner.run({}, {x.data()}).pushes.at("k")).front();
}

TEST(CellEvaluator, ArgmaxIsTheFirstOfTheLargestAndNoNan) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<std::pair<std::vector<float>, std::int32_t>> cases{
      {{5}, 0},          {{1, 3, 2}, 1},       {{-3, -2, -1}, 2},   {{1, 3, 3}, 1},
      {{-0.0F, 0}, 0},   {{1, kInf, kInf}, 1}, {{-kInf, -kInf}, 0}, {{kNan, 1, 2}, 2},
      {{kNan, kNan}, 0}, {{kNan, -kInf}, 1},   {{2, kNan, 1}, 0},   {{1, kNan, 2, kNan}, 2},
  };
  for (const auto& [x, want] : cases) {
    EXPECT_EQ(argmax_of<float>(x), want) << testing::PrintToString(x);
    EXPECT_EQ(argmax_of<double>(x), want) << testing::PrintToString(x);
  }
}

TEST(CellEvaluator, IdsOutsideTheTableGiveZeros) {
  const Weights weights = lstm_weights(3, 2, 5);
  CellBuilder b("c");
  b.push("x", b.embed(b.pull("token", DType::kI32), "lstm.embedding"));
  RowRunner<float> runner(*b.build(&weights), weights);
  for (const std::int32_t token : {-1, 5, std::numeric_limits<std::int32_t>::min(), 1 << 30}) {
    EXPECT_THAT(values_of<float>(runner.run({}, {&token}).pushes.at("x")), ElementsAre(0, 0, 0)) << token;
  }
  const std::int32_t last = 4;
  const float* row = weights.find("lstm.embedding")->f32() + 4 * 3;
  EXPECT_THAT(values_of<float>(runner.run({}, {&last}).pushes.at("x")), ElementsAre(row[0], row[1], row[2]));
}

TEST(CellEvaluator, CheckCellHashesEveryStep) {
  RowRunner<float> runner(*check_cell("check"), Weights{});
  NodeState state;
  std::uint64_t wanted = 0;
  const NodeState* before = nullptr;
  for (const std::int32_t token : {5, -1, 5}) {
    const NodeResult node = runner.run({before}, {&token});
    wanted = check_hash(wanted, static_cast<std::uint64_t>(token));
    EXPECT_EQ(values_of<std::uint64_t>(node.pushes.at("state")), std::vector{wanted});
    state = node.states;
    before = &state;
  }
}

}  // namespace
}  // namespace volvox
