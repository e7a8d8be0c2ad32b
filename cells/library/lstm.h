#pragma once

#include <string_view>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "cells/library/cell_kind.h"

namespace volvox {

// LSTM (Hochreiter and Schmidhuber, 1997, with a forget gate), PyTorch's layout with one combined bias:
//   x = embedding[token];  z = bias + weight_ih·x + weight_hh·h, gates in the rows of z in the order i, f, g,
//   o; c' = fma(σ(f), c, σ(i)·tanh(g));  h' = σ(o)·tanh(c').
// Pulls "token" (i32). Gathers and scatters h and c, pushes h'.
// Weights: embedding [any, input], weight_ih [4·hidden, input], weight_hh [4·hidden, hidden], bias
// [4·hidden].
Result<Cell> lstm_cell(std::string_view name, const CellSizes& sizes, const Weights* weights = nullptr,
                       std::string_view model = {});

// The same above other lanes: x is the state `h` of the same step of a lane (gather 1), of width `input`, or
// of `lanes` lanes, one behind the other. Pulls nothing, and has no embedding.
Result<Cell> lstm_layer_cell(std::string_view name, const CellSizes& sizes, const Weights* weights = nullptr,
                             std::string_view model = {}, std::uint32_t lanes = 1);

}  // namespace volvox
