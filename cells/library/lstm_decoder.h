#pragma once

#include <string_view>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/library/cell_kind.h"

namespace volvox {

// A greedy decoder (BatchMaker §7, Seq2Seq): an LSTM step from the embedding of the token that it chose last,
// `sizes.start` before the first, and the token for which its output projection is the largest. The token is
// a state: it never visits the host. Weights: NAME.embedding [vocabulary, input], NAME.weight_ih [4·hidden,
// input], NAME.weight_hh [4·hidden, hidden], NAME.bias [4·hidden], as in lstm_cell(), and NAME.output
// [vocabulary, hidden], NAME.output_bias [vocabulary]. Gather 0: h, c, token; push 0: the token, an i32.
Result<Cell> lstm_decoder_cell(std::string_view name, const CellSizes& sizes,
                               const Weights* weights = nullptr, std::string_view model = {});

}  // namespace volvox
