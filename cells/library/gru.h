#pragma once

#include <string_view>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "cells/library/cell_kind.h"

namespace volvox {

// GRU (Cho et al., 2014) in PyTorch's form and layout, where the reset gate stands after the product:
//   x = embedding[token];  gates r, z, n in the rows of i = bias_ih + weight_ih·x and g = bias_hh +
//   weight_hh·h; r = σ(i_r + g_r);  z = σ(i_z + g_z);  n = tanh(fma(r, g_n, i_n));  h' = fma(z, h − n, n).
// Pulls "token" (i32). Gathers and scatters h, pushes h'.
// Weights: embedding [any, input], weight_ih [3·hidden, input], weight_hh [3·hidden, hidden], bias_ih and
// bias_hh [3·hidden].
Result<Cell> gru_cell(std::string_view name, const CellSizes& sizes, const Weights* weights = nullptr,
                      std::string_view model = {});

}  // namespace volvox
