#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cells/ir/cell.h"

namespace volvox {

// A GRU cell whose reset gate stands after the product (PyTorch's), where what it makes of its input lies in
// memory already: the core of a split or a folded one. g = product(h …); r = σ(x_r + g_r), z = σ(x_z + g_z),
// n = tanh(fma(r, g_n, x_n)), h' = fma(z, h − n, n), scattered.
struct GruPattern {
  // One of x_r, x_z, x_n: so many elements of a value that lies in memory, from `begin` on.
  struct Part {
    ValueId value = kNoValue;
    std::size_t begin = 0;
  };
  const Operator* product = nullptr;
  std::array<Part, 3> x{};
  ValueId h_in = kNoValue;
  const Operator* h_scatter = nullptr;
  std::vector<std::uint32_t> pushes;  // which of the cell's results are h'
};

// Recognises such a cell by what it computes. Nothing else may be in the cell, which must outlive the
// pattern.
std::optional<GruPattern> match_gru(const Cell& cell);

}  // namespace volvox
