#pragma once

#include <string_view>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "cells/library/cell_kind.h"

namespace volvox {

// A pair of cells for binary trees (Tai et al., 2015, §3.2), with `prefix` for the weights of both.
// Leaf: pulls "token"; z = bias + weight·x, gates i, g, o; c = σ(i)·tanh(g).
// Weights: leaf.embedding [any, input], leaf.weight [3·hidden, input], leaf.bias [3·hidden].
Result<Cell> tree_lstm_leaf_cell(std::string_view name, std::string_view prefix, const CellSizes& sizes,
                                 const Weights* weights = nullptr, std::string_view model = {});
// Internal: gathers h and c of 0 (left) and 1 (right); z = bias + left·h0 + right·h1, gates i, f0, f1, g, o;
// c = fma(σ(f0), c0, fma(σ(f1), c1, σ(i)·tanh(g))).
// Weights: internal.left, internal.right [5·hidden, hidden], internal.bias [5·hidden].
Result<Cell> tree_lstm_internal_cell(std::string_view name, std::string_view prefix, const CellSizes& sizes,
                                     const Weights* weights = nullptr, std::string_view model = {});

}  // namespace volvox
