#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/weights.h"

namespace volvox {

// Sizes of a cell, and what it is told besides.
struct CellSizes {
  std::int64_t input = 0;     // width of x; with an embedding: of its rows
  std::int64_t hidden = 0;    // width of h and c
  std::int64_t start = 0;     // the token that a decoder reads first
  std::int64_t outputs = 0;   // tokens that a decoder chooses among, labels of rows; 0: as the weights say
  std::int64_t top_k = 1;     // how many of these, the most probable ones, a sampling decoder draws from
  double temperature = 1;     // what it divides their logits by
  std::int64_t beams = 4;     // that a beam search keeps
  double length_penalty = 0;  // how much it favours long ones
  std::int64_t end = 0;       // the token that ends one
  std::int64_t symbols = 3;   // that a transducer may emit at a frame, at most

  bool operator==(const CellSizes&) const = default;
};

// What a `kind` in model.toml stands for: cells that every model may use. Each file of cells/library defines
// some, k<File>Cells, and nothing else names them: the build collects them (cells/CMakeLists.txt).
struct CellKind {
  std::string_view name{};
  std::string_view unfolding{};  // for whose nodes it is made: "chain", "lanes", "tree", "graph", "lattice"
  bool sized = false;            // it has a width: `hidden`, and `input`
  // Its cells: one; for binary trees two, of leaves and of inner nodes; for lattices of characters and words.
  // `name` stands before the names of the weights ("lstm" gives "lstm.weight_ih"). The weights are checked
  // where given; without them the shapes come from the sizes. Errors name model, cell and operator.
  Result<std::vector<Cell>> (*build)(std::string_view name, const CellSizes& sizes, const Weights* weights,
                                     std::string_view model) = nullptr;
  unsigned keys = 0;  // CellKey: what it can be told beyond its sizes
};

enum CellKey : unsigned {
  kStartKey = 1U << 0,
  kSamplingKeys = 1U << 1,  // top_k, temperature
  kBeamKeys = 1U << 2,      // beams, length_penalty, end
  kSymbolsKey = 1U << 3,
};

// Null when there is none of this name.
const CellKind* find_cell_kind(std::string_view name);
// Those of one unfolding, for errors: "lstm, noop, check".
std::string cell_kind_names(std::string_view unfolding);

// All there are, a span for each file.
std::span<const std::span<const CellKind>* const> cell_kinds();

// For kinds of one cell.
inline Result<std::vector<Cell>> only(Result<Cell> cell) {
  if (!cell) return tl::unexpected(cell.error());
  std::vector<Cell> cells;
  cells.push_back(std::move(*cell));
  return cells;
}

}  // namespace volvox
