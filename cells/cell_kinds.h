#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cells/library.h"
#include "cells/weights.h"

namespace volvox {

// What a `kind` in model.toml stands for: cells of the library, for one way to unfold requests.
struct CellKind {
  std::string_view name{};
  std::string_view unfolding{};
  bool sized = false;  // it has a width: `hidden`, and `input`
};

// Null when there is none.
const CellKind* find_cell_kind(std::string_view name);
// Those of one unfolding, for errors: "lstm, noop, check".
std::string cell_kind_names(std::string_view unfolding);

// The cells of the kind: one, or for binary trees two, NAME.leaf and NAME.internal. `name` stands before the
// names of the weights. Errors name model, cell and operator.
Result<std::vector<Cell>> build_cells(const CellKind& kind, std::string_view name, const CellSizes& sizes,
                                      const Weights* weights, std::string_view model);

}  // namespace volvox
