#pragma once

#include <string_view>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "cells/library/cell_kind.h"

namespace volvox {

// A perceptron with two hidden layers: scores of a row x, f32 [input], that knows nothing of the rows before.
//   h1 = relu(first_bias + first·x);  h2 = relu(second_bias + second·h1);  scores = output_bias + output·h2
// No states; emits "scores", one for each label. Weights: first [hidden, input], second [hidden, hidden],
// output [labels, hidden], and a bias of each.
Result<Cell> mlp_cell(std::string_view name, const CellSizes& sizes, const Weights* weights = nullptr,
                      std::string_view model = {});

}  // namespace volvox
