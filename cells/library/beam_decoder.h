#pragma once

#include <string_view>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "cells/library/cell_kind.h"

namespace volvox {

// lstm_decoder (lstm_decoder.h) as a beam search: `beams` decoders in one row, whose states are matrices, so
// that the weights are read once for all of them, and the choice among their continuations, which makes each
// beam go on from the states of another one, never leaves the device. A beam is worth the logarithm of its
// probability / ((5 + its length) / 6)^length_penalty (Wu et al., 2016, §7); one that has said `end` keeps
// its worth and says `end` from there on. Of equals the first beam's, and of these the first token's comes
// first. Gather 0: h, c [beams, hidden], token i32, sums, lengths [beams]; gather 1: h, c [hidden] that the
// first step goes on from. Push 0, i32: how many beams have not ended. Push 1, i32 [2, beams]: for each beam,
// the best first, which one of the step before it goes on from, and its token (best_path.h). Weights: those
// of lstm_decoder.
Result<Cell> lstm_beam_decoder_cell(std::string_view name, const CellSizes& sizes,
                                    const Weights* weights = nullptr, std::string_view model = {});

}  // namespace volvox
