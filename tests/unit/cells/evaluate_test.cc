#include "cells/ir/evaluate.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cells/ir/cell_builder.h"
#include "cells/library/check.h"
#include "cells/library/check_tree.h"
#include "cells/library/child_sum.h"
#include "cells/library/lstm.h"
#include "cells/library/tree_lstm.h"
#include "tests/unit/cells/cells_testing.h"
#include "tests/unit/cells/row_runner.h"

namespace volvox {
namespace {

using testing::ElementsAre;
using testing_cells::lstm_weights;
using testing_cells::NodeResult;
using testing_cells::NodeState;
using testing_cells::RowRunner;
using testing_cells::values_of;
using testing_cells::WeightsMaker;

double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

// Row j of a matrix times x.
double dot(const Tensor& w, std::size_t j, const std::vector<double>& x) {
  double sum = 0;
  for (std::size_t k = 0; k < x.size(); ++k) sum += static_cast<double>(w.f32()[j * x.size() + k]) * x[k];
  return sum;
}

std::vector<double> table_row(const Tensor& table, std::size_t id) {
  const auto width = static_cast<std::size_t>(table.shape[1]);
  return {table.f32() + id * width, table.f32() + (id + 1) * width};
}

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

TEST(CellEvaluator, CheckTreeCellHashesItsTokenAndThenItsChildren) {
  RowRunner<float> runner(*check_tree_cell("check"), Weights{});
  const std::int32_t tokens[] = {5, -1, 7};
  const NodeResult a = runner.run({}, {&tokens[0]}), b = runner.run({}, {&tokens[1]});
  const auto number = [](const NodeResult& node) {
    return values_of<std::uint64_t>(node.pushes.at("state"))[0];
  };
  EXPECT_EQ(number(a), check_hash(0, 5));
  EXPECT_EQ(number(b), check_hash(0, static_cast<std::uint64_t>(-1)));
  const NodeResult both = runner.run({}, {&tokens[2]}, {&b.states, &a.states});
  EXPECT_EQ(number(both), check_hash(check_hash(check_hash(0, 7), number(b)), number(a)));
}

TEST(CellEvaluator, BinaryTreeLstmFollowsItsEquations) {
  Random random(9);
  WeightsMaker maker;
  const std::int64_t n = 4;
  maker.add_random("t.leaf.embedding", {6, 3}, random).add_random("t.leaf.weight", {3 * n, 3}, random);
  maker.add_random("t.leaf.bias", {3 * n}, random).add_random("t.internal.left", {5 * n, n}, random);
  maker.add_random("t.internal.right", {5 * n, n}, random).add_random("t.internal.bias", {5 * n}, random);
  const Weights weights = maker.weights();
  const CellSizes sizes{.input = 3, .hidden = n};
  RowRunner<double> leaf(*tree_lstm_leaf_cell("leaf", "t", sizes, &weights), weights);
  RowRunner<double> internal(*tree_lstm_internal_cell("internal", "t", sizes, &weights), weights);
  const std::int32_t left_token = 2, right_token = 5;
  const NodeResult left = leaf.run({}, {&left_token}), right = leaf.run({}, {&right_token});
  const NodeResult root = internal.run({&left.states, &right.states}, {});

  const auto x = table_row(weights.all().at("t.leaf.embedding"), 2);
  const auto h0 = values_of<double>(left.states.at("h")), c0 = values_of<double>(left.states.at("c"));
  const auto h1 = values_of<double>(right.states.at("h")), c1 = values_of<double>(right.states.at("c"));
  const auto leaf_z = [&](std::size_t j) {
    return weights.find("t.leaf.bias")->f32()[j] + dot(*weights.find("t.leaf.weight"), j, x);
  };
  const auto z = [&](std::size_t j) {
    return weights.find("t.internal.bias")->f32()[j] + dot(*weights.find("t.internal.left"), j, h0) +
           dot(*weights.find("t.internal.right"), j, h1);
  };
  for (std::size_t j = 0; j < 4; ++j) {
    EXPECT_NEAR(c0[j], sigmoid(leaf_z(j)) * std::tanh(leaf_z(4 + j)), 1e-12);
    EXPECT_NEAR(h0[j], sigmoid(leaf_z(8 + j)) * std::tanh(c0[j]), 1e-12);
    const double c =
        sigmoid(z(j)) * std::tanh(z(12 + j)) + sigmoid(z(4 + j)) * c0[j] + sigmoid(z(8 + j)) * c1[j];
    EXPECT_NEAR(values_of<double>(root.states.at("c"))[j], c, 1e-12);
    EXPECT_NEAR(values_of<double>(root.pushes.at("h"))[j], sigmoid(z(16 + j)) * std::tanh(c), 1e-12);
  }
}

Weights child_sum_weights(std::int64_t input, std::int64_t n) {
  Random random(10);
  WeightsMaker maker;
  maker.add_random("cs.embedding", {6, input}, random).add_random("cs.weight", {3 * n, input}, random);
  maker.add_random("cs.children", {3 * n, n}, random).add_random("cs.bias", {3 * n}, random);
  maker.add_random("cs.forget_weight", {n, input}, random).add_random("cs.forget_child", {n, n}, random);
  maker.add_random("cs.forget_bias", {n}, random);
  return maker.weights();
}

// Children that differ in number, none included; each forgotten on its own.
TEST(CellEvaluator, ChildSumFollowsItsEquationsForAnyNumberOfChildren) {
  const std::size_t n = 3;
  const Weights weights = child_sum_weights(4, n);
  RowRunner<double> runner(*child_sum_cell("cs", {.input = 4, .hidden = n}, &weights), weights);
  const std::int32_t token = 1;
  std::vector<NodeState> nodes;
  for (std::size_t children : {0U, 1U, 2U, 3U, 0U, 5U}) {
    std::vector<const NodeState*> list;
    for (std::size_t i = 0; i < children; ++i) list.push_back(&nodes[i % nodes.size()]);
    const NodeResult node = runner.run({}, {&token}, list);
    const auto x = table_row(weights.all().at("cs.embedding"), 1);
    std::vector<double> sum(n, 0);
    for (const NodeState* child : list) {
      for (std::size_t j = 0; j < n; ++j) sum[j] += values_of<double>(child->at("h"))[j];
    }
    for (std::size_t j = 0; j < n; ++j) {
      const auto z = [&](std::size_t r) {
        return weights.find("cs.bias")->f32()[r] + dot(*weights.find("cs.weight"), r, x) +
               dot(*weights.find("cs.children"), r, sum);
      };
      double c = sigmoid(z(j)) * std::tanh(z(n + j));
      for (const NodeState* child : list) {
        const double f = weights.find("cs.forget_bias")->f32()[j] +
                         dot(*weights.find("cs.forget_weight"), j, x) +
                         dot(*weights.find("cs.forget_child"), j, values_of<double>(child->at("h")));
        c += sigmoid(f) * values_of<double>(child->at("c"))[j];
      }
      EXPECT_NEAR(values_of<double>(node.states.at("c"))[j], c, 1e-12) << children << " children";
      EXPECT_NEAR(values_of<double>(node.states.at("h"))[j], sigmoid(z(2 * n + j)) * std::tanh(c), 1e-12);
    }
    nodes.push_back(node.states);
  }
}

}  // namespace
}  // namespace volvox
