#pragma once

#include <cstdint>

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

// h = o·tanh(c); publishes both and emits h.
inline void publish_lstm(CellBuilder& b, ValueId o, ValueId c) {
  const ValueId h = b.mul(b.sigmoid(o), b.tanh(c));
  b.scatter("h", h);
  b.scatter("c", c);
  b.push("h", h);
}

}  // namespace volvox
