#pragma once

#include <string_view>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "cells/library/cell_kind.h"

namespace volvox {

// The plain recurrent network (Elman, 1990), PyTorch's layout with one combined bias:
//   x = embedding[token];  h' = f(bias + weight_ih·x + weight_hh·h), f the operator `activation`: "tanh",
//   "relu".
// Pulls "token" (i32). Gathers and scatters h, pushes h'.
// Weights: embedding [any, input], weight_ih [hidden, input], weight_hh [hidden, hidden], bias [hidden].
Result<Cell> rnn_cell(std::string_view name, std::string_view activation, const CellSizes& sizes,
                      const Weights* weights = nullptr, std::string_view model = {});

}  // namespace volvox
