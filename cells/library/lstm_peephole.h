#pragma once

#include <string_view>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "cells/library/cell_kind.h"

namespace volvox {

// LSTM whose gates see the cell state through weights of their own (Gers and Schmidhuber, 2000), as the lstm
// of cells/library/lstm.h but for
//   i = σ(z_i + peephole_i·c);  f = σ(z_f + peephole_f·c);  o = σ(z_o + peephole_o·c'), element by element.
// Weights: those of an lstm, and peephole_i, peephole_f, peephole_o [hidden].
Result<Cell> lstm_peephole_cell(std::string_view name, const CellSizes& sizes,
                                const Weights* weights = nullptr, std::string_view model = {});

}  // namespace volvox
