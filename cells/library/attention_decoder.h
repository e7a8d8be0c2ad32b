#pragma once

#include <string_view>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "cells/library/cell_kind.h"

namespace volvox {

enum class Attention : std::uint8_t { kDot, kAdditive };

// lstm_decoder (lstm_decoder.h) whose choice of a token also looks at every state `h` of another lane, of the
// same width, in its list. After the step of the LSTM:
//   s_k = h'·h_k (Luong et al., 2015, §3.1, "dot"), or score·tanh(query·h' + key·h_k) (Bahdanau et al., 2015,
//   §A.1.2); a = softmax(s); context = Σ a_k·h_k; attended = tanh(mix_context·context + mix_h·h');
//   token' = the index of the largest of output_bias + output·attended.
// Weights: those of lstm_decoder, with output [vocabulary, hidden]; mix_context, mix_h [hidden, hidden];
// where additive, query, key [hidden, hidden] and score [1, hidden].
Result<Cell> attention_decoder_cell(std::string_view name, const CellSizes& sizes, Attention attention,
                                    const Weights* weights = nullptr, std::string_view model = {});

}  // namespace volvox
