#pragma once

#include <string>
#include <string_view>

#include "cells/ir/cell_builder.h"

namespace volvox {

// The state after one step of a GRU in PyTorch's form (gru.h) from x and h, with the weights of the cell
// `name`.
inline ValueId gru_step(CellBuilder& b, std::string_view name, ValueId x, ValueId h, std::int64_t hidden) {
  const std::string prefix = std::string(name) + ".";
  const std::string bias_ih = prefix + "bias_ih", bias_hh = prefix + "bias_hh",
                    weight_ih = prefix + "weight_ih", weight_hh = prefix + "weight_hh";
  const ValueId of_x = b.product({{weight_ih, x}}, {.bias = bias_ih, .width = 3 * hidden});
  const ValueId of_h = b.product({{weight_hh, h}}, {.bias = bias_hh, .width = 3 * hidden});
  const auto gate = [&](ValueId from, std::int64_t number) {
    return b.slice(from, number * hidden, (number + 1) * hidden);
  };
  const ValueId r = b.sigmoid(b.add(gate(of_x, 0), gate(of_h, 0)));
  const ValueId z = b.sigmoid(b.add(gate(of_x, 1), gate(of_h, 1)));
  const ValueId n = b.tanh(b.mul_add(r, gate(of_h, 2), gate(of_x, 2)));
  return b.mul_add(z, b.apply("sub", {h, n}), n);
}

}  // namespace volvox
