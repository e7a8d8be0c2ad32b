#pragma once

#include <string_view>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "cells/library/cell_kind.h"

namespace volvox {

// Binary trees of fully connected layers (Looks et al., 2017, §3.1), `prefix` before the weights of both.
// Leaf: pulls "token"; h = relu(bias + weight·embedding[token]).
// Weights: leaf.embedding [any, input], leaf.weight [hidden, input], leaf.bias [hidden].
Result<Cell> tree_fc_leaf_cell(std::string_view name, std::string_view prefix, const CellSizes& sizes,
                               const Weights* weights = nullptr, std::string_view model = {});
// Internal: h = relu(bias + left·h0 + right·h1), of gathers 0 and 1.
// Weights: internal.left, internal.right [hidden, hidden], internal.bias [hidden].
Result<Cell> tree_fc_internal_cell(std::string_view name, std::string_view prefix, const CellSizes& sizes,
                                   const Weights* weights = nullptr, std::string_view model = {});

}  // namespace volvox
