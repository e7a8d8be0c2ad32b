#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "tests/unit/cells/op_case_parts.h"

namespace volvox::testing_cells {
namespace {

// f for each stretch along the last axis of extent n.
std::function<Numbers(const Rows&)> along(std::size_t n, std::function<Numbers(const Numbers&)> f) {
  return [=](const Rows& in) {
    Numbers out;
    for (std::size_t at = 0; at < in[0].size(); at += n) {
      const auto first = in[0].begin() + static_cast<std::ptrdiff_t>(at);
      for (const double v : f({first, first + static_cast<std::ptrdiff_t>(n)})) out.push_back(v);
    }
    return out;
  };
}

Numbers softmax_of(const Numbers& x) {
  double sum = 0;
  for (const double v : x) sum += std::exp(v);
  Numbers out;
  for (const double v : x) out.push_back(std::exp(v) / sum);
  return out;
}

Numbers log_softmax_of(const Numbers& x) {
  Numbers out = softmax_of(x);
  for (double& v : out) v = std::log(v);
  return out;
}

Numbers normalised(const Numbers& x, bool scaled) {
  const auto n = static_cast<double>(x.size());
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
  double variance = 0;
  for (const double v : x) variance += (v - mean) * (v - mean) / n;
  Numbers out;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double scale = scaled ? case_weight("w", k) : 1, shift = scaled ? case_weight("b", k) : 0;
    out.push_back((x[k] - mean) / std::sqrt(variance + 1e-3) * scale + shift);
  }
  return out;
}

// The indices of x, largest first, of equals the first one first.
std::vector<std::size_t> sorted(const Numbers& x) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return x[a] > x[b]; });
  return order;
}

}  // namespace

void add_last_axis(std::vector<OpCase>& cases) {
  for (const bool ragged : {false, true}) {
    const Operand x{.shape = {2, 3, 9}, .ragged = ragged};
    cases.push_back({"softmax", {x}, applied("softmax"), along(9, softmax_of)});
    cases.push_back({"log_softmax", {x}, applied("log_softmax"), along(9, log_softmax_of)});
    cases.push_back(
        {"layer_norm", {x}, applied("layer_norm", {.reals = {1e-3}}), along(9, [](const Numbers& v) {
           return normalised(v, false);
         })});
    cases.push_back({"layer_norm",
                     {x},
                     applied("layer_norm", {.reals = {1e-3}}, {"w", "b"}),
                     along(9, [](const Numbers& v) { return normalised(v, true); }),
                     nullptr,
                     {{"w", {9}}, {"b", {9}}}});
  }
  const Operand coarse{.shape = {2, 15}, .coarse = true};
  cases.push_back({"top_k", {coarse}, applied("top_k", {.integers = {4}}), along(15, [](const Numbers& x) {
                     Numbers out;
                     for (std::size_t k = 0; k < 4; ++k) out.push_back(x[sorted(x)[k]]);
                     return out;
                   })});
  cases.push_back({"top_k_indices",
                   {coarse},
                   applied("top_k_indices", {.integers = {15}}),
                   along(15, [](const Numbers& x) {
                     const auto order = sorted(x);
                     return Numbers(order.begin(), order.end());
                   })});
  cases.push_back({"argmax", {{.shape = {15}, .coarse = true}}, applied("argmax"), [](const Rows& in) {
                     return Numbers{static_cast<double>(sorted(in[0])[0])};
                   }});
}

namespace {

// Of x [2, 3, 4], the elements that belong to the same element when `axes` are gone, in ascending order.
std::vector<Numbers> stretches(const Numbers& x, const std::array<bool, 3>& gone) {
  std::map<std::array<std::size_t, 3>, Numbers> found;
  for (std::size_t k = 0; k < x.size(); ++k) {
    std::array<std::size_t, 3> at{k / 12, k / 4 % 3, k % 4};
    for (std::size_t axis = 0; axis < 3; ++axis) at[axis] = gone[axis] ? 0 : at[axis];
    found[at].push_back(x[k]);
  }
  std::vector<Numbers> all;
  for (const auto& [at, numbers] : found) all.push_back(numbers);
  return all;
}

}  // namespace

void add_reductions(std::vector<OpCase>& cases) {
  const std::pair<const char*, double (*)(const Numbers&)> kinds[] = {
      {"reduce_sum", total}, {"reduce_mean", mean_of}, {"reduce_max", largest}, {"reduce_min", smallest}};
  const std::pair<std::vector<std::int64_t>, std::array<bool, 3>> axes[] = {{{}, {true, true, true}},
                                                                            {{1}, {false, true, false}},
                                                                            {{2, 0}, {true, false, true}},
                                                                            {{2}, {false, false, true}}};
  for (const auto& [op, f] : kinds) {
    for (const auto& [named, gone] : axes) {
      cases.push_back({op,
                       {{{2, 3, 4}, named.size() == 1}},
                       applied(op, {.integers = named}),
                       [f = f, gone = gone](const Rows& in) {
                         Numbers out;
                         for (const Numbers& x : stretches(in[0], gone)) out.push_back(f(x));
                         return out;
                       }});
    }
  }
  cases.push_back({"argmax_axis",
                   {{.shape = {2, 3, 4}, .coarse = true}},
                   applied("argmax_axis", {.integers = {1}}),
                   [](const Rows& in) {
                     Numbers out;
                     for (const Numbers& x : stretches(in[0], {false, true, false}))
                       out.push_back(static_cast<double>(sorted(x)[0]));
                     return out;
                   }});
}

void add_lists(std::vector<OpCase>& cases) {
  const Operand x{.shape = {2, 3}, .ragged = true};
  const auto folded = [](double (*f)(const Numbers&)) {
    return [f](const std::vector<Numbers>& list) {
      Numbers out;
      for (std::size_t k = 0; k < 6; ++k) {
        Numbers column;
        for (const Numbers& row : list) column.push_back(row[k]);
        out.push_back(column.empty() ? 0 : f(column));
      }
      return out;
    };
  };
  cases.push_back({"segment_sum", {x}, applied("segment_sum"), nullptr, folded(total)});
  cases.push_back({"segment_mean", {x}, applied("segment_mean"), nullptr, folded(mean_of)});
  cases.push_back({"segment_max", {x}, applied("segment_max"), nullptr, folded(largest)});
  cases.push_back(
      {"segment_softmax", {x}, applied("segment_softmax"), nullptr, [](const std::vector<Numbers>& list) {
         Numbers out;
         for (const Numbers& row : list) {
           for (std::size_t k = 0; k < 6; ++k) {
             double sum = 0;
             for (const Numbers& other : list) sum += std::exp(other[k]);
             out.push_back(std::exp(row[k]) / sum);
           }
         }
         return out;
       }});
}

}  // namespace volvox::testing_cells
