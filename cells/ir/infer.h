#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"

namespace volvox {

// The most elements that one value may have.
inline constexpr std::int64_t kMaxValueElements = 1 << 24;

// Computes the shape and the type of every value of a cell, and everything else that follows from its
// operators: Cell::gathers, pulls, pushes, gathers_all and states. Checks that the cell is well formed: every
// value produced once and before its use, at most kMaxGathers, kMaxPulls and kMaxPushes numbers, operators
// with the inputs they can work on, states and inputs used with one shape and type only.
//
// What cannot be computed must be there beforehand: shape and type of gathered and pulled values, and,
// without `weights`, the shape of the outputs of products and embeddings. With `weights` every tensor that
// the cell names must be there and fit. An error names model, cell and operator; the cell is then half
// inferred. Repeating it changes nothing.
Status infer(Cell& cell, const Weights* weights = nullptr, std::string_view model = {});

}  // namespace volvox
