#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cells/ir/cell.h"

namespace volvox {

// The most operands of a product that a kernel takes.
inline constexpr std::size_t kMaxTerms = 4;

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

// Whether the rows of a float value lie in memory as they are: gathered states, pulled inputs, or rows of a
// table chosen by a pulled id.
bool lies_in_memory(const Cell& cell, ValueId value);

// The operands of a product, without the start.
std::vector<ValueId> product_terms(const Operator& product);
// The value that the chains start from; kNoValue: a bias, or zero.
ValueId product_start(const Operator& product);

}  // namespace volvox
