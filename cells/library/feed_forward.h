#pragma once

#include <string_view>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "cells/library/cell_kind.h"

namespace volvox {

// Layers without a past, over the state `h`, of width `input`, of the same step of another lane. They publish
// and emit "h", so that they stand above each other.

// h = relu(bias + weight·x). Weights: weight [hidden, input], bias [hidden].
Result<Cell> dense_cell(std::string_view name, const CellSizes& sizes, const Weights* weights = nullptr,
                        std::string_view model = {});
// Highway (Srivastava et al., 2015): h = t·relu(bias + weight·x) + (1 − t)·x, t = σ(gate_bias + gate·x);
// `hidden` is `input`. Weights: weight, gate [hidden, hidden], bias, gate_bias [hidden].
Result<Cell> highway_cell(std::string_view name, const CellSizes& sizes, const Weights* weights = nullptr,
                          std::string_view model = {});
// Element by element the largest of all states `h`, of width `hidden`, of another lane. No weights.
Result<Cell> max_pooling_cell(std::string_view name, const CellSizes& sizes);
// Of the states `h`, of width `hidden`, of two lanes: a·b / √(a·a · b·b). Emits "similarity", f32 [1]; no
// state, no weights.
Result<Cell> cosine_cell(std::string_view name, const CellSizes& sizes);

}  // namespace volvox
