#pragma once

#include <string_view>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "cells/library/cell_kind.h"

namespace volvox {

// Cells for lattices (cells/unfold/lattice/): a character reads the one before it (gather 0) and, in its
// list, the words that end with it; a word reads its first character (gather 0). `prefix` stands before the
// weights of both cells of a pair. Both pull "token", i32, and look it up: P.embedding [any, input], where P
// is prefix.character or prefix.word.

// Lattice LSTM (Zhang and Yang, 2018, §3.2).
// Word: z = bias + weight_ih·x + weight_hh·h, gates i, f, g; c' = fma(σ(f), c, σ(i)·tanh(g)); keeps "c".
// Weights: word.weight_ih [3·hidden, input], word.weight_hh [3·hidden, hidden], word.bias [3·hidden].
Result<Cell> lattice_lstm_word_cell(std::string_view name, std::string_view prefix, const CellSizes& sizes,
                                    const Weights* weights = nullptr, std::string_view model = {});
// Character: z as of `lstm`, gates i, f, g, o. Without words c' = fma(σ(f), c, σ(i)·tanh(g)). With words of
// states c_k: l_k = σ(link_bias + link_weight·x + link_cell·c_k);
// c' = (exp(σ(i))·tanh(g) + Σ exp(l_k)·c_k) / (exp(σ(i)) + Σ exp(l_k)). h' = σ(o)·tanh(c'). Emits "h".
// Weights: those of `lstm`, and link_weight [hidden, input], link_cell [hidden, hidden], link_bias [hidden].
Result<Cell> lattice_lstm_character_cell(std::string_view name, std::string_view prefix,
                                         const CellSizes& sizes, const Weights* weights = nullptr,
                                         std::string_view model = {});

// The same with GRUs. Word: `gru` over x and h of its first character; keeps "h".
Result<Cell> lattice_gru_word_cell(std::string_view name, std::string_view prefix, const CellSizes& sizes,
                                   const Weights* weights = nullptr, std::string_view model = {});
// Character: n is what `gru` makes of x and h, r and z its gates. With words of states h_k:
// l_k = σ(link_bias + link_weight·x + link_state·h_k); e = exp(σ(own_bias + own_weight·x));
// h' = (e·n + Σ exp(l_k)·h_k) / (e + Σ exp(l_k)); without words h' = n. Emits "h".
// Weights: those of `gru`, link_weight, own_weight [hidden, input], link_state [hidden, hidden], link_bias,
// own_bias [hidden].
Result<Cell> lattice_gru_character_cell(std::string_view name, std::string_view prefix,
                                        const CellSizes& sizes, const Weights* weights = nullptr,
                                        std::string_view model = {});

}  // namespace volvox
