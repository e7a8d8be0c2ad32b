#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "cpu/fused/fused_kernel.h"
#include "cpu/packed_product.h"
#include "cpu/product_runner.h"

namespace volvox::cpu {

// An LSTM step over random rows, with everything that a kernel needs, and what it should give in double
// precision.
class LstmFixture {
 public:
  LstmFixture(std::size_t input, std::size_t hidden, std::size_t rows, std::uint32_t seed = 1)
      : input_(input), hidden_(hidden), rows_(rows), random_(seed) {
    const float scale = 1.0F / std::sqrt(static_cast<float>(hidden));
    w_ = draw(4 * hidden * input, scale);
    u_ = draw(4 * hidden * hidden, scale);
    bias_ = draw(4 * hidden, 0.5F);
    x_ = draw(rows * input, 2.0F);
    h_ = draw(rows * hidden, 1.0F);
    c_ = draw(rows * hidden, 2.0F);
  }

  struct State {
    std::vector<float> h, c;
    bool operator==(const State&) const = default;
  };

  // The whole step of rows [first, first + count).
  State full(const Kernels& kernels, ThreadTeam& team, std::size_t first, std::size_t count) {
    const WeightTerm weights[] = {{w_.data(), input_}, {u_.data(), hidden_}};
    const auto product = PackedProduct::make(weights, bias_.data(), 4 * hidden_, 4, kernels.lanes).value();
    return step(kernels, team, product, first, count, nullptr);
  }
  // The same in two parts: W·x of all rows at once, then the rest.
  State eager_and_core(const Kernels& kernels, ThreadTeam& team, std::size_t first, std::size_t count) {
    const WeightTerm eager{w_.data(), input_}, core{u_.data(), hidden_};
    const auto xw =
        PackedProduct::make({&eager, 1}, bias_.data(), 4 * hidden_, kPlain, kernels.lanes).value();
    const auto rest = PackedProduct::make({&core, 1}, nullptr, 4 * hidden_, 4, kernels.lanes).value();
    std::vector<float> start(rows_ * 4 * hidden_);
    auto x = pointers(x_, input_, 0, rows_);
    auto out = mutable_pointers(start, 4 * hidden_, 0, rows_);
    const ProductTerm term{x.data(), input_};
    ProductCall call;
    call.product = &xw;
    call.rows = rows_;
    call.terms = &term;
    call.term_count = 1;
    call.kernel = kernels.product;
    call.out[0] = out.data();
    ProductRunner::make(team.size()).value().run(team, call);
    const auto starts = pointers(start, 4 * hidden_, first, count);
    return step(kernels, team, rest, first, count, starts.data());
  }
  // Rows [first, first + count) in double precision; the arithmetic of the definition and nothing else.
  State exact(std::size_t first, std::size_t count) const {
    State out{std::vector<float>(count * hidden_), std::vector<float>(count * hidden_)};
    for (std::size_t r = 0; r < count; ++r) {
      for (std::size_t unit = 0; unit < hidden_; ++unit) {
        const double i = sigmoid(gate(first + r, unit)), f = sigmoid(gate(first + r, hidden_ + unit));
        const double g = std::tanh(gate(first + r, 2 * hidden_ + unit));
        const double o = sigmoid(gate(first + r, 3 * hidden_ + unit));
        const double c = f * c_[(first + r) * hidden_ + unit] + i * g;
        out.c[r * hidden_ + unit] = static_cast<float>(c);
        out.h[r * hidden_ + unit] = static_cast<float>(o * std::tanh(c));
      }
    }
    return out;
  }

 private:
  static BlockKernel block_of(const Kernels& kernels) {
    const auto all = fused_kernels();
    const auto lstm =
        std::find_if(all.begin(), all.end(), [](const auto* one) { return one->name == "lstm"; });
    return kernels.fused[lstm - all.begin()];
  }
  static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
  double gate(std::size_t row, std::size_t output) const {
    double z = bias_[output];
    for (std::size_t k = 0; k < input_; ++k) z += double{w_[output * input_ + k]} * x_[row * input_ + k];
    for (std::size_t k = 0; k < hidden_; ++k) z += double{u_[output * hidden_ + k]} * h_[row * hidden_ + k];
    return z;
  }
  std::vector<float> draw(std::size_t n, float scale) {
    std::uniform_real_distribution<float> distribution(-scale, scale);
    std::vector<float> values(n);
    for (float& v : values) v = distribution(random_);
    return values;
  }
  static std::vector<const float*> pointers(const std::vector<float>& from, std::size_t width,
                                            std::size_t first, std::size_t count) {
    std::vector<const float*> rows;
    for (std::size_t r = 0; r < count; ++r) rows.push_back(from.data() + (first + r) * width);
    return rows;
  }
  static std::vector<float*> mutable_pointers(std::vector<float>& from, std::size_t width, std::size_t first,
                                              std::size_t count) {
    std::vector<float*> rows;
    for (std::size_t r = 0; r < count; ++r) rows.push_back(from.data() + (first + r) * width);
    return rows;
  }
  State step(const Kernels& kernels, ThreadTeam& team, const PackedProduct& product, std::size_t first,
             std::size_t count, const float* const* start) {
    State out{std::vector<float>(count * hidden_), std::vector<float>(count * hidden_)};
    const auto x = pointers(x_, input_, first, count), h = pointers(h_, hidden_, first, count);
    const auto c = pointers(c_, hidden_, first, count);
    auto h_out = mutable_pointers(out.h, hidden_, 0, count);
    auto c_out = mutable_pointers(out.c, hidden_, 0, count);
    const ProductTerm terms[] = {{x.data(), input_}, {h.data(), hidden_}};
    ProductCall call;
    call.product = &product;
    call.kernel = block_of(kernels);
    call.rows = count;
    call.terms = start == nullptr ? terms : terms + 1;
    call.term_count = start == nullptr ? 2 : 1;
    call.start = start;
    call.in[0] = c.data();
    call.out[0] = h_out.data();
    call.out[1] = c_out.data();
    ProductRunner::make(team.size()).value().run(team, call);
    return out;
  }

  std::size_t input_, hidden_, rows_;
  std::mt19937 random_;
  std::vector<float> w_, u_, bias_, x_, h_, c_;
};

}  // namespace volvox::cpu
