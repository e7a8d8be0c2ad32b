#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/unit/cells/op_case_parts.h"

namespace volvox::testing_cells {
namespace {

// x [3, 4, 5] at these indices; what is outside is `other`.
double at(const Numbers& x, std::int64_t i, std::int64_t j, std::int64_t k, double other = 0) {
  const bool inside = i >= 0 && i < 3 && j >= 0 && j < 4 && k >= 0 && k < 5;
  return inside ? x[static_cast<std::size_t>((i * 4 + j) * 5 + k)] : other;
}

// f(i, j, k) for all indices within a shape.
std::function<Numbers(const Rows&)> each(
    std::array<std::int64_t, 3> shape,
    std::function<double(const Rows&, std::int64_t, std::int64_t, std::int64_t)> f) {
  return [=](const Rows& in) {
    Numbers out;
    for (std::int64_t i = 0; i < shape[0]; ++i)
      for (std::int64_t j = 0; j < shape[1]; ++j)
        for (std::int64_t k = 0; k < shape[2]; ++k) out.push_back(f(in, i, j, k));
    return out;
  };
}

std::int64_t mirrored(std::int64_t i, std::int64_t n) {
  return i < 0 ? -i : i >= n ? 2 * n - 2 - i : i;
}

}  // namespace

void add_layouts(std::vector<OpCase>& cases) {
  const Operand x{.shape = {3, 4, 5}}, all{.shape = {3, 4, 5}, .ragged = true};
  const auto same = [](const Rows& in) { return in[0]; };
  cases.push_back({"reshape", {x}, applied("reshape", {.integers = {5, 12}}), same});
  cases.push_back({"reshape",
                   {{.shape = {6}, .ragged = true, .integer = true}},
                   [](CellBuilder& b, const auto& in) {
                     return b.apply("to_f32", {b.reshape(in[0], {2, 3})});
                   },
                   same});
  for (const Operand& operand : {x, all}) {
    cases.push_back(
        {"transpose",
         {operand},
         applied("transpose", {.integers = {2, 0, 1}}),
         each({5, 3, 4}, [](const Rows& in, auto i, auto j, auto k) { return at(in[0], j, k, i); })});
    cases.push_back({"pad",
                     {operand},
                     applied("pad", {.integers = {1, 0, 2, 0, 2, 1}, .reals = {-0.75}}),
                     each({4, 6, 8}, [](const Rows& in, auto i, auto j, auto k) {
                       return at(in[0], i - 1, j, k - 2, -0.75);
                     })});
    cases.push_back({"pad_reflect",
                     {operand},
                     applied("pad_reflect", {.integers = {0, 3, 1, 2, 0, 4}}),
                     each({5, 7, 10}, [](const Rows& in, auto i, auto j, auto k) {
                       return at(in[0], mirrored(i, 3), mirrored(j - 3, 4), mirrored(k - 1, 5));
                     })});
    cases.push_back(
        {"slice_axis",
         {operand},
         applied("slice_axis", {.integers = {1, 1, 3}}),
         each({3, 2, 5}, [](const Rows& in, auto i, auto j, auto k) { return at(in[0], i, j + 1, k); })});
    cases.push_back(
        {"slice_axis",
         {operand},
         applied("slice_axis", {.integers = {2, 1, 5, 3}}),
         each({3, 4, 2}, [](const Rows& in, auto i, auto j, auto k) { return at(in[0], i, j, 1 + 3 * k); })});
    constexpr std::int64_t kBeyondAll = std::numeric_limits<std::int64_t>::max();
    cases.push_back(
        {"slice_axis",
         {operand},
         applied("slice_axis", {.integers = {1, 1, 3, kBeyondAll}}),
         each({3, 1, 5}, [](const Rows& in, auto i, auto, auto k) { return at(in[0], i, 1, k); })});
    cases.push_back(
        {"concat_axis",
         {operand, x},
         applied("concat_axis", {.integers = {1}}),
         each({3, 8, 5}, [](const Rows& in, auto i, auto j, auto k) { return at(in[j / 4], i, j % 4, k); })});
  }
  cases.push_back({"slice",
                   {{{9}, true}},
                   [](CellBuilder& b, const auto& in) { return b.slice(in[0], 2, 6); },
                   [](const Rows& in) { return Numbers(in[0].begin() + 2, in[0].begin() + 6); }});
  cases.push_back({"concat", {{{3}}, {{4}, true}}, applied("concat"), [](const Rows& in) {
                     Numbers out = in[0];
                     out.insert(out.end(), in[1].begin(), in[1].end());
                     return out;
                   }});
  const auto numbers = [](const Rows&) { return Numbers{0.5, -1, 2, 0.25}; };
  cases.push_back(
      {"constant", {}, applied("constant", {.integers = {2, 2}, .reals = {0.5, -1, 2, 0.25}}), numbers});
  cases.push_back({"constant", {}, applied("constant", {.integers = {3}, .reals = {0.1}}), [](const Rows&) {
                     return Numbers{0.1, 0.1, 0.1};
                   }});
  cases.push_back({"constant",
                   {{{2, 3}, true}},
                   [](CellBuilder& b, const auto& in) {
                     return b.add(in[0], b.apply("constant", {}, {.integers = {3}}, {"w"}));
                   },
                   [](const Rows& in) {
                     Numbers out;
                     for (std::size_t k = 0; k < 6; ++k) out.push_back(in[0][k] + case_weight("w", k % 3));
                     return out;
                   },
                   nullptr,
                   {{"w", {3}}}});
}

namespace {

constexpr Convolution kGrouped{.channels = 4,
                               .height = 6,
                               .width = 5,
                               .kernels = 6,
                               .kernel_height = 2,
                               .kernel_width = 3,
                               .stride = {2, 1},
                               .padding = {1, 2},
                               .groups = 2,
                               .dilation = {3, 2}};
constexpr Convolution kDepthwise{
    .channels = 3, .width = 90, .kernels = 3, .kernel_width = 5, .padding = {0, 2}, .groups = 3};
constexpr Convolution kPooled{.channels = 3,
                              .height = 5,
                              .width = 6,
                              .kernel_height = 3,
                              .kernel_width = 2,
                              .stride = {2, 2},
                              .padding = {1, 1}};

// f(elements) for the window of output (row, column) over plane `channel`, those outside being NaN.
template <class F>
auto over_window(const Convolution& c, const Numbers& x, std::int64_t channel, std::int64_t row,
                 std::int64_t column, F f) {
  Numbers window;
  for (std::int64_t i = 0; i < c.kernel_height; ++i) {
    for (std::int64_t j = 0; j < c.kernel_width; ++j) {
      const std::int64_t y = row * c.stride[0] + i * c.dilation[0] - c.padding[0],
                         z = column * c.stride[1] + j * c.dilation[1] - c.padding[1];
      const bool inside = y >= 0 && y < c.height && z >= 0 && z < c.width;
      window.push_back(inside ? x[static_cast<std::size_t>((channel * c.height + y) * c.width + z)]
                              : std::nan(""));
    }
  }
  return f(window);
}

OpCase convolution_case(const Convolution& c, bool bias) {
  const std::int64_t per_kernel = c.kernel_height * c.kernel_width, seen = c.channels / c.groups;
  OpCase made{
      "convolution",
      {{{c.channels * c.height * c.width}}},
      [=](CellBuilder& b, const auto& in) { return b.convolution(in[0], "w", c, bias ? "bias" : ""); },
      each({c.kernels, c.out_height(), c.out_width()},
           [=](const Rows& in, auto kernel, auto row, auto column) {
             double sum = bias ? case_weight("bias", static_cast<std::size_t>(kernel)) : 0;
             for (std::int64_t channel = 0; channel < seen; ++channel) {
               over_window(c, in[0], kernel / (c.kernels / c.groups) * seen + channel, row, column,
                           [&](const Numbers& window) {
                             for (std::size_t k = 0; k < window.size(); ++k) {
                               const auto weight =
                                   static_cast<std::size_t>((kernel * seen + channel) * per_kernel) + k;
                               if (!std::isnan(window[k])) sum += case_weight("w", weight) * window[k];
                             }
                           });
             }
             return sum;
           }),
      nullptr,
      {{"w", c.weight_shape()}}};
  if (bias) made.weights.push_back({"bias", {c.kernels}});
  return made;
}

}  // namespace

void add_windows(std::vector<OpCase>& cases) {
  cases.push_back(convolution_case(kGrouped, true));
  cases.push_back(convolution_case(kGrouped, false));
  cases.push_back(convolution_case(kDepthwise, true));
  const auto pooled = [](const std::string& op, double (*f)(const Numbers&)) {
    return OpCase{op,
                  {{{kPooled.inputs()}, true}},
                  [op](CellBuilder& b, const auto& in) { return b.pool(op, in[0], kPooled); },
                  each({kPooled.channels, kPooled.out_height(), kPooled.out_width()},
                       [f](const Rows& in, auto channel, auto row, auto column) {
                         return over_window(kPooled, in[0], channel, row, column, [f](Numbers window) {
                           std::erase_if(window, [](double v) { return std::isnan(v); });
                           return f(window);
                         });
                       })};
  };
  cases.push_back(pooled("max_pool", largest));
  cases.push_back(pooled("average_pool", mean_of));
}

}  // namespace volvox::testing_cells
