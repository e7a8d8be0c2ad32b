#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/cells/op_cases.h"

// What the table of cases is made of.
namespace volvox::testing_cells {

using Rows = std::vector<Numbers>;  // by operand
using Operand = OpCase::Operand;

// Applies the operator to all operands.
inline std::function<ValueId(CellBuilder&, const std::vector<ValueId>&)> applied(
    std::string op, Attributes attributes = {}, std::vector<std::string> weights = {}) {
  return [=](CellBuilder& b, const std::vector<ValueId>& inputs) {
    return b.apply(op, inputs, attributes, weights);
  };
}

inline double total(const Numbers& x) {
  return std::accumulate(x.begin(), x.end(), 0.0);
}
inline double mean_of(const Numbers& x) {
  return total(x) / static_cast<double>(x.size());
}
inline double largest(const Numbers& x) {
  return *std::max_element(x.begin(), x.end());
}
inline double smallest(const Numbers& x) {
  return *std::min_element(x.begin(), x.end());
}

void add_elementwise(std::vector<OpCase>& cases);
void add_choices(std::vector<OpCase>& cases);
void add_last_axis(std::vector<OpCase>& cases);
void add_reductions(std::vector<OpCase>& cases);
void add_lists(std::vector<OpCase>& cases);
void add_products(std::vector<OpCase>& cases);
void add_layouts(std::vector<OpCase>& cases);
void add_draws(std::vector<OpCase>& cases);
void add_windows(std::vector<OpCase>& cases);

}  // namespace volvox::testing_cells
