#pragma once

#include <string_view>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/library/cell_kind.h"

namespace volvox {

// A layer without a memory: y = weight·x + bias, where x is the state `h` of the same step of another lane
// (gather 1), or of `lanes` lanes, at most three, one behind the other. Pushes y. Weights: NAME.weight [any,
// lanes·input], NAME.bias.
Result<Cell> projection_cell(std::string_view name, const CellSizes& sizes, std::uint32_t lanes,
                             const Weights* weights = nullptr, std::string_view model = {});

}  // namespace volvox
