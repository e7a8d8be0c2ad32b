#pragma once

#include <string_view>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "cells/library/cell_kind.h"

namespace volvox {

// GRU as Cho et al. (2014) wrote it, where the reset gate stands before the product (ONNX:
// linear_before_reset = 0; Keras: reset_after = False):
//   x = embedding[token];  gates r, z, n in the rows of i = bias + weight_ih·x;
//   r, z = σ(i_rz + weight_gates·h);  n = tanh(i_n + weight_new·(r·h));  h' = fma(z, h − n, n).
// Pulls "token" (i32). Gathers and scatters h, pushes h'.
// Weights: embedding [any, input], weight_ih [3·hidden, input], bias [3·hidden], weight_gates [2·hidden,
// hidden], weight_new [hidden, hidden].
Result<Cell> gru_reset_before_cell(std::string_view name, const CellSizes& sizes,
                                   const Weights* weights = nullptr, std::string_view model = {});

}  // namespace volvox
