#pragma once

#include <string_view>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "cells/library/cell_kind.h"

namespace volvox {

// Child-sum TreeGRU, the GRU of cells/library/gru_reset_before.h over any number of children, each with a
// reset gate of its own: pulls "token", gathers h of all children; s = Σ h_k.
//   z = σ(update_bias + update_weight·x + update_children·s);
//   r_k = σ(reset_bias + reset_weight·x + reset_child·h_k);
//   n = tanh(bias + weight·x + children·Σ r_k·h_k);  h' = fma(z, s − n, n).
// Weights: embedding [any, input]; of each gate its weight [hidden, input], children or child [hidden,
// hidden] and bias [hidden].
Result<Cell> tree_gru_cell(std::string_view name, const CellSizes& sizes, const Weights* weights = nullptr,
                           std::string_view model = {});

}  // namespace volvox
