#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cells/cell.h"

namespace volvox::cpu {

// A cell that one product kernel computes as a whole:
//   z = product(x0, x1 …) and z is scattered or pushed                       (the eager part of a split cell)
//   z likewise, then the LSTM update of gates i, f, g, o, c and h scattered  (the whole cell or its core)
struct FusedPattern {
  struct Push {
    std::uint32_t index = 0;  // which of the cell's results
    bool cell_state = false;  // c instead of h (LSTM)
  };
  const Operator* product = nullptr;
  bool lstm = false;
  ValueId c_in = kNoValue;                // LSTM: the gathered c
  const Operator* out_scatter = nullptr;  // of z or h
  const Operator* c_scatter = nullptr;    // LSTM
  std::vector<Push> pushes;
};

// Recognises such a cell by what it computes: neither names nor the order of independent operators matter,
// and a · b may be written b · a. Nothing else may be in the cell.
std::optional<FusedPattern> match_fused(const Cell& cell);

// The operands of a product, without the start.
std::vector<ValueId> product_terms(const Operator& product);
// The value that the chains start from; kNoValue: a bias, or zero.
ValueId product_start(const Operator& product);

}  // namespace volvox::cpu
