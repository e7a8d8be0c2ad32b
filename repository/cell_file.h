#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"
#include "cells/ir/cell.h"

namespace volvox {

// A model can bring a cell that nobody has written in C++, as data beside its model.toml: its operators by
// their names in cells/ops, in their order, and the types and shapes of its values (docs/models.md). Whether
// they fit each other is infer()'s to say, once the weights are there.

inline constexpr std::size_t kMaxCellFileBytes = 8U << 20;
inline constexpr std::size_t kMaxCellOperators = 1U << 16;
inline constexpr std::size_t kMaxCellValues = 1U << 16;

// The file of the cell `name`: "NAME.cell.json".
std::string cell_file_name(std::string_view name);

// Any bytes may come: the result is a cell, not inferred yet and without a name, or an error that names
// `file` and the operator. Operators that make no value have none; every other member is there.
Result<Cell> parse_cell(std::string_view json, std::string_view file);

// The reverse: an operator a line.
std::string to_json(const Cell& cell);

}  // namespace volvox
