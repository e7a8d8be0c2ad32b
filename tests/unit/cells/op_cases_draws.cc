#include <algorithm>
#include <cmath>

#include "cells/ops/philox.h"
#include "tests/unit/cells/op_case_parts.h"

namespace volvox::testing_cells {
namespace {

// By a table of running sums.
Numbers drawn(const Rows& in) {
  Numbers weights = in[0];
  for (double& weight : weights) weight = std::max(weight, 0.0);
  const double wanted = in[1][0] * total(weights);
  double sum = 0, last = 0;
  for (std::size_t k = 0; k < weights.size(); ++k) {
    if (weights[k] <= 0) continue;
    last = static_cast<double>(k);
    if ((sum += weights[k]) > wanted) break;
  }
  return {last};
}

std::size_t clamped(double index, std::size_t extent) {
  return static_cast<std::size_t>(std::clamp(index, 0.0, static_cast<double>(extent - 1)));
}

}  // namespace

void add_draws(std::vector<OpCase>& cases) {
  const Operand matrix{.shape = {3, 4}}, held{.shape = {3}, .coarse = true};
  cases.push_back({"hold",
                   {matrix, held},
                   [](CellBuilder& b, const auto& in) {
                     return b.apply("exp", {b.apply("hold", in, {.integers = {2}})});
                   },
                   [](const Rows& in) {
                     Numbers out;
                     for (std::size_t k = 0; k < in[0].size(); ++k) {
                       const double held = k % 4 == 2 ? 1 : 0;
                       out.push_back(in[1][k / 4] == 0 ? std::exp(in[0][k]) : held);
                     }
                     return out;
                   }});
  const Operand places{.shape = {5}, .integer = true, .least = 0, .most = 23.9F};
  cases.push_back({"unravel", {places}, applied("unravel", {.integers = {2, 3, 4}}), [](const Rows& in) {
                     Numbers out;
                     for (const int step : {12, 4, 1})
                       for (const double place : in[0])
                         out.push_back(static_cast<int>(place) / step % (step == 12 ? 2 : step == 4 ? 3 : 4));
                     return out;
                   }});
  const Operand number{.integer = true, .least = -1000, .most = 1000};
  cases.push_back({"uniform", {number, number}, applied("uniform", {.integers = {7}}), [](const Rows& in) {
                     const auto word = [&](std::size_t i) {
                       return static_cast<std::uint32_t>(static_cast<std::int32_t>(in[i][0]));
                     };
                     const std::uint32_t bits = philox({word(1), 0, 0, 0}, {word(0), 7})[0] / 256;
                     return Numbers{bits / 16777216.0};
                   }});
  cases.push_back({"draw", {{.shape = {9}}, {.least = 0, .most = 1}}, applied("draw"), drawn});
  cases.push_back(
      {"draw", {{.shape = {6}, .least = -3, .most = -1}, {.least = 0, .most = 1}}, applied("draw"), drawn});
  const Operand x{.shape = {3, 4, 5}}, three{.shape = {3}, .integer = true, .least = -3, .most = 7};
  cases.push_back({"take", {x, three}, applied("take", {.integers = {1}}), [](const Rows& in) {
                     Numbers out;
                     for (std::size_t i = 0; i < 3; ++i)
                       for (const double at : in[1])
                         for (std::size_t k = 0; k < 5; ++k)
                           out.push_back(in[0][(i * 4 + clamped(at, 4)) * 5 + k]);
                     return out;
                   }});
  cases.push_back({"take", {x, three}, applied("take", {.integers = {0}}), [](const Rows& in) {
                     Numbers out;
                     for (const double at : in[1])
                       for (std::size_t k = 0; k < 20; ++k) out.push_back(in[0][clamped(at, 3) * 20 + k]);
                     return out;
                   }});
  cases.push_back({"take",
                   {{.shape = {6}, .integer = true, .most = 90}, {.integer = true, .least = -3, .most = 9}},
                   applied("take", {.integers = {0}}),
                   [](const Rows& in) { return Numbers{in[0][clamped(in[1][0], 6)]}; }});
}

}  // namespace volvox::testing_cells
