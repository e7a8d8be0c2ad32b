#pragma once

#include <string_view>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "cells/library/cell_kind.h"

namespace volvox {

// Binary trees whose nodes have a vector and a matrix (Socher et al., 2012, §2.2), `prefix` before the
// weights of both cells. States "h" [hidden] and "matrix" [hidden, hidden]. Leaf: pulls "token"; both are
// rows of tables. Weights: leaf.embedding [any, hidden], leaf.matrices [any, hidden·hidden].
Result<Cell> mv_rnn_leaf_cell(std::string_view name, std::string_view prefix, const CellSizes& sizes,
                              const Weights* weights = nullptr, std::string_view model = {});
// Internal, over (a, A) of gather 0 and (b, B) of gather 1: h = tanh(bias + left·(B·a) + right·(A·b));
// matrix = joined·[A; B], A above B.
// Weights: internal.left, internal.right [hidden, hidden], internal.bias [hidden], internal.joined
// [hidden, 2·hidden].
Result<Cell> mv_rnn_internal_cell(std::string_view name, std::string_view prefix, const CellSizes& sizes,
                                  const Weights* weights = nullptr, std::string_view model = {});

}  // namespace volvox
