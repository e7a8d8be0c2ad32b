#pragma once

#include <string_view>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "cells/library/cell_kind.h"

namespace volvox {

// LSTM whose h is a projection (Sak et al., 2014), PyTorch's `proj_size`: the lstm of cells/library/lstm.h
// but for
//   h' = weight_hr·(σ(o)·tanh(c')).
// Weights: those of an lstm, weight_hh being [4·hidden, projected], and weight_hr [projected, hidden]. How
// wide h is they say; without weights it is `hidden`.
Result<Cell> lstm_projection_cell(std::string_view name, const CellSizes& sizes,
                                  const Weights* weights = nullptr, std::string_view model = {});

}  // namespace volvox
