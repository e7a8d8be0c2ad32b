#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "cells/library/cell_kind.h"

namespace volvox {

// For graphs: LSTMs along the characters of each word, and along the words in both directions, whose x is
// what the word's last character left (Ling et al., 2015). Three cells, none of which emits anything:
//   NAME.character  pulls a token; gather 0: the character before it in its word
//   NAME.ahead      gather 0: the word's last character; gather 1: the `ahead` of the word before
//   NAME.back       gather 0: the word's last character; gather 1: the `back` of the word behind
// What is not there is 0. States h and c, of `hidden` elements. Weights of each: weight_ih, weight_hh and
// bias as in lstm_cell(), where x has `hidden` elements for words; NAME.character.embedding [any, input].
Result<std::vector<Cell>> word_lstm_cells(std::string_view name, const CellSizes& sizes,
                                          const Weights* weights = nullptr, std::string_view model = {});

// What stands above them, a label for each word: of the states h, of width `input`, of gathers 0 and 1, one
// behind the other, the index of the largest element of bias + weight·x, of `hidden` labels. No states; emits
// "label", i32. Weights: weight [hidden, 2·input], bias [hidden].
Result<Cell> word_tagger_cell(std::string_view name, const CellSizes& sizes, const Weights* weights = nullptr,
                              std::string_view model = {});

}  // namespace volvox
