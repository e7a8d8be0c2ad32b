#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cells/ir/cell.h"

namespace volvox {

// An LSTM cell with any number of predecessors, or the core of a split one: z = product(x0, x1 …), then the
// update of the gates i, f0, f1 …, g, o: c' = fma(σ(f0), c0, fma(σ(f1), c1, … σ(i)·tanh(g))),
// h' = σ(o)·tanh(c'), both scattered. One forget gate: an LSTM; two: the inner node of a binary TreeLSTM
// (Tai et al., 2015); none: its leaf.
struct LstmPattern {
  struct Push {
    std::uint32_t index = 0;  // which of the cell's results
    bool cell_state = false;  // c' instead of h'
  };
  const Operator* product = nullptr;
  std::vector<ValueId> c_in;  // the gathered c0, c1 …
  const Operator* h_scatter = nullptr;
  const Operator* c_scatter = nullptr;
  std::vector<Push> pushes;
};

// Recognises such a cell by what it computes. Nothing else may be in the cell, which must outlive the
// pattern.
std::optional<LstmPattern> match_lstm(const Cell& cell, std::size_t forget_gates = 1);

}  // namespace volvox
