#pragma once

#include <string_view>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "cells/library/cell_kind.h"

namespace volvox {

// A greedy transducer (Graves, 2012, "Sequence transduction with recurrent neural networks"), one frame a
// step: as long as the likeliest symbol is not the blank, which is `start`, and there have been fewer than
// `symbols` at this frame, it is emitted and the prediction network reads it. A blank leaves that network
// where it was (the states are selected, so nothing visits the host), and whatever follows it at a frame is
// blank again. So a frame costs the same whatever it emits, and a stream of frames can go on for ever. With f
// the state `h` of width `input` of another lane's same step:
//   h', c' = LSTM(embedding[token], h, c)
//   symbol = the index of the largest of output_bias + output·tanh(joint_bias + joint_frame·f +
//   joint_said·h')
// Gather 0: h, c [hidden], token: those before the last symbol was read, and that symbol; gather 1: h. Push
// 0: i32 [symbols], the blank where there is none. Weights: those of lstm_decoder (lstm_decoder.h), where
// embedding is [vocabulary, hidden], and joint_frame [hidden, input], joint_said [hidden, hidden], joint_bias
// [hidden].
Result<Cell> lstm_transducer_cell(std::string_view name, const CellSizes& sizes,
                                  const Weights* weights = nullptr, std::string_view model = {});

}  // namespace volvox
