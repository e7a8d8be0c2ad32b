#pragma once

#include <utility>
#include <vector>

#include "base/error.h"
#include "cells/ir/cell.h"

namespace volvox {

// For kinds of two cells.
inline Result<std::vector<Cell>> both(Result<Cell> first, Result<Cell> second) {
  if (!first) return tl::unexpected(first.error());
  if (!second) return tl::unexpected(second.error());
  std::vector<Cell> cells;
  cells.push_back(std::move(*first));
  cells.push_back(std::move(*second));
  return cells;
}

}  // namespace volvox
