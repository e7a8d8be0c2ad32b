// The library's recurrent cells that no golden covers, by their equations.
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "cells/library/gru_reset_before.h"
#include "cells/library/lstm_peephole.h"
#include "cells/library/lstm_projection.h"
#include "cells/library/rnn.h"
#include "tests/unit/cells/by_hand.h"
#include "tests/unit/cells/random_weights.h"
#include "tests/unit/cells/row_runner.h"

namespace volvox {
namespace {

using testing_cells::dot;
using testing_cells::NodeResult;
using testing_cells::NodeState;
using testing_cells::RowRunner;
using testing_cells::sigmoid;
using testing_cells::table_row;
using testing_cells::values_of;

constexpr std::int64_t kInput = 5, kHidden = 4;
constexpr std::size_t kWide = 4;
using Vector = std::vector<double>;

// Weights of the cell "c" by their short names.
class Equations {
 public:
  explicit Equations(const Weights& weights) : weights_(weights) {}
  double times(const char* name, std::size_t row, const Vector& x) const { return dot(tensor(name), row, x); }
  double of(const char* name, std::size_t k) const { return tensor(name).f32()[k]; }
  Vector embedded(std::int32_t token) const {
    return table_row(tensor("embedding"), static_cast<std::size_t>(token));
  }

 private:
  const Tensor& tensor(const char* name) const { return *weights_.find("c." + std::string(name)); }
  const Weights& weights_;
};

RandomWeights with_embedding() {
  return RandomWeights().add("c.embedding", {kVocabulary, kInput});
}

// Runs a chain; `next` computes h of each step from x and h of the step before, and what else it keeps.
void expect_chain(const Cell& cell, const Weights& weights,
                  const std::function<Vector(const Vector& x, const Vector& h)>& next,
                  std::size_t wide = kWide) {
  RowRunner<double> runner(cell, weights);
  const Equations equations(weights);
  Vector h(wide);
  NodeState state;
  const NodeState* before = nullptr;
  for (const std::int32_t token : {3, 9, 0, 3, 41}) {
    NodeResult node = runner.run({before}, {&token});
    h = next(equations.embedded(token), h);
    const auto got = values_of<double>(node.pushes.at("h"));
    ASSERT_EQ(got.size(), wide);
    for (std::size_t j = 0; j < wide; ++j) EXPECT_NEAR(got[j], h[j], 1e-12) << cell.name << ", " << j;
    state = std::move(node.states);
    before = &state;
  }
}

TEST(GatedCells, RnnFollowsItsEquation) {
  const Weights weights = with_embedding()
                              .add("c.weight_ih", {kHidden, kInput})
                              .add("c.weight_hh", {kHidden, kHidden})
                              .add("c.bias", {kHidden})
                              .weights();
  const Equations w(weights);
  for (const bool relu : {false, true}) {
    const auto cell = rnn_cell("c", relu ? "relu" : "tanh", {kInput, kHidden}, &weights);
    ASSERT_TRUE(cell) << cell.error().message;
    expect_chain(*cell, weights, [&](const Vector& x, const Vector& h) {
      Vector out;
      for (std::size_t j = 0; j < kWide; ++j) {
        const double z = w.of("bias", j) + w.times("weight_ih", j, x) + w.times("weight_hh", j, h);
        out.push_back(relu ? std::max(z, 0.0) : std::tanh(z));
      }
      return out;
    });
  }
}

TEST(GatedCells, GruWithTheResetBeforeTheProductFollowsItsEquations) {
  const Weights weights = with_embedding()
                              .add("c.weight_ih", {3 * kHidden, kInput})
                              .add("c.bias", {3 * kHidden})
                              .add("c.weight_gates", {2 * kHidden, kHidden})
                              .add("c.weight_new", {kHidden, kHidden})
                              .weights();
  const Equations w(weights);
  const auto cell = gru_reset_before_cell("c", {kInput, kHidden}, &weights);
  ASSERT_TRUE(cell) << cell.error().message;
  expect_chain(*cell, weights, [&](const Vector& x, const Vector& h) {
    const auto of_x = [&](std::size_t j) { return w.of("bias", j) + w.times("weight_ih", j, x); };
    Vector reset, out;
    for (std::size_t j = 0; j < kWide; ++j) {
      reset.push_back(sigmoid(of_x(j) + w.times("weight_gates", j, h)) * h[j]);
    }
    for (std::size_t j = 0; j < kWide; ++j) {
      const double z = sigmoid(of_x(kWide + j) + w.times("weight_gates", kWide + j, h));
      const double n = std::tanh(of_x(2 * kWide + j) + w.times("weight_new", j, reset));
      out.push_back(z * h[j] + (1 - z) * n);
    }
    return out;
  });
}

TEST(GatedCells, LstmWithPeepholesFollowsItsEquations) {
  const Weights weights = with_embedding()
                              .add("c.weight_ih", {4 * kHidden, kInput})
                              .add("c.weight_hh", {4 * kHidden, kHidden})
                              .add("c.bias", {4 * kHidden})
                              .add("c.peephole_i", {kHidden}, 2.0F)
                              .add("c.peephole_f", {kHidden}, 2.0F)
                              .add("c.peephole_o", {kHidden}, 2.0F)
                              .weights();
  const Equations w(weights);
  const auto cell = lstm_peephole_cell("c", {kInput, kHidden}, &weights);
  ASSERT_TRUE(cell) << cell.error().message;
  Vector c(kWide);
  expect_chain(*cell, weights, [&](const Vector& x, const Vector& h) {
    Vector out;
    for (std::size_t j = 0; j < kWide; ++j) {
      const auto z = [&](std::size_t gate) {
        const std::size_t row = gate * kWide + j;
        return w.of("bias", row) + w.times("weight_ih", row, x) + w.times("weight_hh", row, h);
      };
      const double i = sigmoid(z(0) + w.of("peephole_i", j) * c[j]);
      const double f = sigmoid(z(1) + w.of("peephole_f", j) * c[j]);
      c[j] = f * c[j] + i * std::tanh(z(2));
      out.push_back(sigmoid(z(3) + w.of("peephole_o", j) * c[j]) * std::tanh(c[j]));
    }
    return out;
  });
}

TEST(GatedCells, LstmWithAProjectionFollowsItsEquations) {
  constexpr std::int64_t kProjected = 3;
  const Weights weights = with_embedding()
                              .add("c.weight_ih", {4 * kHidden, kInput})
                              .add("c.weight_hh", {4 * kHidden, kProjected})
                              .add("c.weight_hr", {kProjected, kHidden})
                              .add("c.bias", {4 * kHidden})
                              .weights();
  const Equations w(weights);
  const auto cell = lstm_projection_cell("c", {kInput, kHidden}, &weights);
  ASSERT_TRUE(cell) << cell.error().message;
  Vector c(kWide);
  const auto next = [&](const Vector& x, const Vector& h) {
    Vector inner, out;
    for (std::size_t j = 0; j < kWide; ++j) {
      const auto z = [&](std::size_t gate) {
        const std::size_t row = gate * kWide + j;
        return w.of("bias", row) + w.times("weight_ih", row, x) + w.times("weight_hh", row, h);
      };
      c[j] = sigmoid(z(1)) * c[j] + sigmoid(z(0)) * std::tanh(z(2));
      inner.push_back(sigmoid(z(3)) * std::tanh(c[j]));
    }
    for (std::size_t j = 0; j < kProjected; ++j) out.push_back(w.times("weight_hr", j, inner));
    return out;
  };
  expect_chain(*cell, weights, next, kProjected);
  EXPECT_EQ(lstm_projection_cell("c", {kInput, kHidden})->states[0].shape, Shape{kHidden});
}

}  // namespace
}  // namespace volvox
