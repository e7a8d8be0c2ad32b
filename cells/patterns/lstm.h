#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cells/ir/cell.h"

namespace volvox {

// An LSTM cell, or the core of a split one: z = product(x0, x1 …), then the update of the gates i, f, g, o:
// c' = fma(σ(f), c, σ(i)·tanh(g)), h' = σ(o)·tanh(c'), both scattered.
struct LstmPattern {
  struct Push {
    std::uint32_t index = 0;  // which of the cell's results
    bool cell_state = false;  // c' instead of h'
  };
  const Operator* product = nullptr;
  ValueId c_in = kNoValue;  // the gathered c
  const Operator* h_scatter = nullptr;
  const Operator* c_scatter = nullptr;
  std::vector<Push> pushes;
};

// Recognises such a cell by what it computes. Nothing else may be in the cell, which must outlive the
// pattern.
std::optional<LstmPattern> match_lstm(const Cell& cell);

}  // namespace volvox
