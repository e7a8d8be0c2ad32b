#include <algorithm>

#include "tests/unit/cells/op_case_parts.h"

namespace volvox::testing_cells {
namespace {

Numbers matrix_product(const double* a, const double* b, std::size_t rows, std::size_t inner,
                       std::size_t columns) {
  Numbers out;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < inner; ++k) sum += a[i * inner + k] * b[k * columns + j];
      out.push_back(sum);
    }
  }
  return out;
}

}  // namespace

void add_products(std::vector<OpCase>& cases) {
  for (const bool biased : {false, true}) {
    cases.push_back({"linear",
                     {{{2, 3, 17}}, {{2, 3, 4}}},
                     [=](CellBuilder& b, const auto& in) {
                       return b.linear({{"w", in[0]}, {"u", in[1]}}, {.bias = biased ? "bias" : ""});
                     },
                     [=](const Rows& in) {
                       Numbers out;
                       for (std::size_t s = 0; s < 6; ++s) {
                         for (std::size_t j = 0; j < 5; ++j) {
                           double sum = biased ? case_weight("bias", j) : 0;
                           for (std::size_t k = 0; k < 17; ++k)
                             sum += case_weight("w", j * 17 + k) * in[0][s * 17 + k];
                           for (std::size_t k = 0; k < 4; ++k)
                             sum += case_weight("u", j * 4 + k) * in[1][s * 4 + k];
                           out.push_back(sum);
                         }
                       }
                       return out;
                     },
                     nullptr,
                     {{"w", {5, 17}}, {"u", {5, 4}}, {"bias", {5}}}});
  }
  cases.push_back({"matmul", {{{2, 3, 5}, true}, {{5, 4}}}, applied("matmul"), [](const Rows& in) {
                     Numbers out = matrix_product(in[0].data(), in[1].data(), 3, 5, 4);
                     const Numbers second = matrix_product(in[0].data() + 15, in[1].data(), 3, 5, 4);
                     out.insert(out.end(), second.begin(), second.end());
                     return out;
                   }});
  cases.push_back({"matmul", {{{3, 17}}, {{17, 2}}}, applied("matmul"), [](const Rows& in) {
                     return matrix_product(in[0].data(), in[1].data(), 3, 17, 2);
                   }});
  // The scores of two heads.
  cases.push_back({"dot", {{{2, 9}, true}, {{2, 9}}}, applied("dot"), [](const Rows& in) {
                     Numbers out = matrix_product(in[0].data(), in[1].data(), 1, 9, 1);
                     out.push_back(matrix_product(in[0].data() + 9, in[1].data() + 9, 1, 9, 1)[0]);
                     return out;
                   }});
  cases.push_back({"dot", {{{9}}, {{3, 9}}}, applied("dot"), [](const Rows& in) {
                     Numbers out;
                     for (std::size_t i = 0; i < 3; ++i)
                       out.push_back(matrix_product(in[0].data(), in[1].data() + 9 * i, 1, 9, 1)[0]);
                     return out;
                   }});
  const auto product = [](const Rows& in, const char* bias) {
    Numbers out;
    for (std::size_t j = 0; j < 6; ++j) {
      double sum = bias != nullptr ? case_weight(bias, j) : in[2][j];
      for (std::size_t k = 0; k < 5; ++k) sum += case_weight("w", j * 5 + k) * in[0][k];
      for (std::size_t k = 0; k < 3; ++k) sum += case_weight("u", j * 3 + k) * in[1][k];
      out.push_back(sum);
    }
    return out;
  };
  cases.push_back({"product",
                   {{{5}}, {{3}, true}},
                   [](CellBuilder& b, const auto& in) {
                     return b.product({{"w", in[0]}, {"u", in[1]}}, {.bias = "bias"});
                   },
                   [=](const Rows& in) { return product(in, "bias"); },
                   nullptr,
                   {{"w", {6, 5}}, {"u", {6, 3}}, {"bias", {6}}}});
  cases.push_back({"product",
                   {{{5}}, {{3}}, {{6}}},
                   [](CellBuilder& b, const auto& in) {
                     return b.product({{"w", in[0]}, {"u", in[1]}}, {.value = in[2]});
                   },
                   [=](const Rows& in) { return product(in, nullptr); },
                   nullptr,
                   {{"w", {6, 5}}, {"u", {6, 3}}}});
  for (const Shape& ids : {Shape{}, Shape{2, 3}})
    cases.push_back({"embed",
                     {{.shape = ids, .integer = true, .least = -3, .most = 9}},
                     [](CellBuilder& b, const auto& in) { return b.embed(in[0], "table"); },
                     [](const Rows& in) {
                       Numbers out;
                       for (const double number : in[0]) {
                         const auto id = static_cast<std::int64_t>(number);
                         for (std::size_t k = 0; k < 4; ++k)
                           out.push_back(id < 0 || id >= 7
                                             ? 0
                                             : case_weight("table", static_cast<std::size_t>(id) * 4 + k));
                       }
                       return out;
                     },
                     nullptr,
                     {{"table", {7, 4}}}});
}

}  // namespace volvox::testing_cells
