#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "cells/library/cell_kind.h"

namespace volvox {

// The best labels of a conditional random field (Lample et al., 2016, §2.2), by Viterbi's algorithm, a step a
// cell: what a label is worth at a step is bias + weight·x, where x is the state `h`, of width `input`, of
// the same step of each of `lanes` other lanes; that it follows another one transitions[that, this], that it
// is the first start[this], that it is the last end[this]. `hidden` labels. Of ways that are worth the same
// it takes the one that stood before the other at the step before, which stand by what they would be worth if
// they ended there; at the first step the first label. Gather 0: "scores" and "labels" of the best way to
// each label, best first, and "steps", how many there were, up to 1. Push 0: i32 [2, hidden], which of these
// each label's way goes on from, and the label (best_path.h). Weights: weight [hidden, lanes·input], bias,
// start, end [hidden], transitions [hidden, hidden].
Result<Cell> viterbi_cell(std::string_view name, const CellSizes& sizes, std::uint32_t lanes,
                          const Weights* weights = nullptr, std::string_view model = {});

}  // namespace volvox
