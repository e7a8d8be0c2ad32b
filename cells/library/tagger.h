#pragma once

#include <string_view>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "cells/library/cell_kind.h"

namespace volvox {

// Labels: of the state `h`, of width `input`, of the same step of one lane, or of `lanes` lanes, one behind
// the other, the index of the largest element of bias + weight·x, of `hidden` labels. No states; emits
// "label", i32. Weights: weight [hidden, lanes·input], bias [hidden].
Result<Cell> tagger_cell(std::string_view name, const CellSizes& sizes, std::uint32_t lanes,
                         const Weights* weights = nullptr, std::string_view model = {});

}  // namespace volvox
