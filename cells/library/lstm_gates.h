#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "cells/ir/cell_builder.h"

namespace volvox {

// What the cells of the library with LSTM's gates have in common.

// States "h" and "c", both of `hidden` elements.
inline void declare_lstm_states(CellBuilder& b, std::int64_t hidden) {
  b.state({.name = "h", .shape = {hidden}}).state({.name = "c", .shape = {hidden}});
}

// Gate `number` of z, each of `hidden` elements.
inline ValueId lstm_gate(CellBuilder& b, ValueId z, std::int64_t number, std::int64_t hidden) {
  return b.slice(z, number * hidden, (number + 1) * hidden);
}

// h and c of i, f, g, o and the c before.
inline std::array<ValueId, 2> lstm_states(CellBuilder& b, const std::array<ValueId, 4>& gates, ValueId c) {
  const ValueId i = b.sigmoid(gates[0]), f = b.sigmoid(gates[1]), g = b.tanh(gates[2]);
  const ValueId next = b.mul_add(f, c, b.mul(i, g));
  return {b.mul(b.sigmoid(gates[3]), b.tanh(next)), next};
}

// The states after one step from x and the states h and c, with the weights of the cell `name` (lstm.h).
inline std::array<ValueId, 2> lstm_step(CellBuilder& b, std::string_view name, ValueId x, ValueId h,
                                        ValueId c, std::int64_t hidden) {
  const std::string prefix = std::string(name) + ".";
  const std::string bias = prefix + "bias", weight_ih = prefix + "weight_ih",
                    weight_hh = prefix + "weight_hh";
  const ValueId z = b.product({{weight_ih, x}, {weight_hh, h}}, {.bias = bias, .width = 4 * hidden});
  std::array<ValueId, 4> gates{};
  for (std::int64_t k = 0; k < 4; ++k) gates[static_cast<std::size_t>(k)] = lstm_gate(b, z, k, hidden);
  return lstm_states(b, gates, c);
}

// The same after the states of gather 0.
inline std::array<ValueId, 2> lstm_step(CellBuilder& b, std::string_view name, ValueId x,
                                        std::int64_t hidden) {
  const auto [h, c] = b.gather(0, {"h", "c"});
  return lstm_step(b, name, x, h, c, hidden);
}

// h = o·tanh(c); publishes both and emits h.
inline void publish_lstm(CellBuilder& b, ValueId o, ValueId c) {
  const ValueId h = b.mul(b.sigmoid(o), b.tanh(c));
  b.scatter("h", h);
  b.scatter("c", c);
  b.push("h", h);
}

}  // namespace volvox
