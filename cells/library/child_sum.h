#pragma once

#include <string_view>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "cells/library/cell_kind.h"

namespace volvox {

// Child-sum TreeLSTM (Tai et al., 2015, §3.1): pulls "token", gathers h and c of all children.
//   z = bias + weight·x + children·Σh, gates i, g, o;  f_k = σ(forget_bias + forget_weight·x +
//   forget_child·h_k); c = fma(σ(i), tanh(g), Σ f_k·c_k).
// Weights: embedding [any, input], weight [3·hidden, input], children [3·hidden, hidden], bias [3·hidden],
// forget_weight [hidden, input], forget_child [hidden, hidden], forget_bias [hidden].
Result<Cell> child_sum_cell(std::string_view name, const CellSizes& sizes, const Weights* weights = nullptr,
                            std::string_view model = {});

}  // namespace volvox
