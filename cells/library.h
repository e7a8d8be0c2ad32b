#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "cells/cell.h"
#include "cells/weights.h"

namespace volvox {

// Sizes of a recurrent cell.
struct CellSizes {
  std::int64_t input = 0;   // width of x; with an embedding: of its rows
  std::int64_t hidden = 0;  // width of h and c
};

// The cells that every model may use. `prefix` stands before the names of the weights ("lstm" gives
// "lstm.weight_ih"). The weights are checked where given; without them the shapes come from the sizes.
//
// LSTM (Hochreiter and Schmidhuber, 1997, with a forget gate), PyTorch's layout with one combined bias:
//   x = embedding[token];  z = bias + weight_ih·x + weight_hh·h, gates in the rows of z in the order i, f, g,
//   o; c' = fma(σ(f), c, σ(i)·tanh(g));  h' = σ(o)·tanh(c').
// Pulls "token" (i32). Gathers and scatters h and c, pushes h'.
// Weights: embedding [any, input], weight_ih [4·hidden, input], weight_hh [4·hidden, hidden], bias
// [4·hidden].
Result<Cell> lstm_cell(std::string_view name, const CellSizes& sizes, const Weights* weights = nullptr,
                       std::string_view model = {});

// The same above another lane: x is the state `h` of that lane's same step (gather 1), of width `input`.
// Pulls nothing, and has no embedding.
Result<Cell> lstm_layer_cell(std::string_view name, const CellSizes& sizes, const Weights* weights = nullptr,
                             std::string_view model = {});

// Nothing at all: reads nothing, publishes nothing, emits nothing. What is left is the way there and back.
Result<Cell> noop_cell(std::string_view name);

// state' = check_hash(state, token), both pushed and scattered: pulls "token" (i32), scatters "state" (u64),
// pushes "state". A lost, doubled, reordered or leaked step changes every later value.
Result<Cell> check_cell(std::string_view name);

// The same over trees: state = check_hash(0, token), mixed with the children's states in their order. Pulls
// "token" (i32), gathers "state" (u64) of all children, pushes and scatters "state".
Result<Cell> check_tree_cell(std::string_view name);

// A pair of cells for binary trees (Tai et al., 2015, §3.2), with `prefix` for the weights of both.
// Leaf: pulls "token"; z = bias + weight·x, gates i, g, o; c = σ(i)·tanh(g).
// Weights: leaf.embedding [any, input], leaf.weight [3·hidden, input], leaf.bias [3·hidden].
Result<Cell> tree_lstm_leaf_cell(std::string_view name, std::string_view prefix, const CellSizes& sizes,
                                 const Weights* weights = nullptr, std::string_view model = {});
// Internal: gathers h and c of 0 (left) and 1 (right); z = bias + left·h0 + right·h1, gates i, f0, f1, g, o;
// c = fma(σ(f0), c0, fma(σ(f1), c1, σ(i)·tanh(g))).
// Weights: internal.left, internal.right [5·hidden, hidden], internal.bias [5·hidden].
Result<Cell> tree_lstm_internal_cell(std::string_view name, std::string_view prefix, const CellSizes& sizes,
                                     const Weights* weights = nullptr, std::string_view model = {});

// Child-sum TreeLSTM (Tai et al., 2015, §3.1): pulls "token", gathers h and c of all children.
//   z = bias + weight·x + children·Σh, gates i, g, o;  f_k = σ(forget_bias + forget_weight·x +
//   forget_child·h_k); c = fma(σ(i), tanh(g), Σ f_k·c_k).
// Weights: embedding [any, input], weight [3·hidden, input], children [3·hidden, hidden], bias [3·hidden],
// forget_weight [hidden, input], forget_child [hidden, hidden], forget_bias [hidden].
Result<Cell> child_sum_cell(std::string_view name, const CellSizes& sizes, const Weights* weights = nullptr,
                            std::string_view model = {});

}  // namespace volvox
