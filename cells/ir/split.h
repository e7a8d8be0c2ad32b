#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/error.h"
#include "cells/ir/cell.h"

namespace volvox {

// A cell in two parts that together compute the same bits.
struct SplitCell {
  // What depends only on what is given: pulls, computes and scatters the values that `core` needs, as
  // states of its own. Nothing: the cell has no such part that is worth a step of its own.
  std::optional<Cell> eager;
  Cell core;                 // the rest; without an eager part the cell as it was
  std::uint32_t gather = 0;  // which gather of `core` reads the eager part of the same step
};

// By the number of a gather: whether what it reads waits for no step of the cell itself, such as the layer
// below of a stack.
using GivenGathers = std::array<bool, kMaxGathers>;

// A recurrence makes its steps wait for each other, but W·x of a whole sequence can run at once (Cavs §3.4,
// DeepCPU's time-independent phase). Splits an inferred cell. Pulls are given, and so are
// `given` gathers, which both parts read under their numbers:
//   * operators that depend only on what is given, and contribute to a product of such values, become
//   "<name>.eager";
//   * a product whose leading terms depend only on that is split in the middle of its chain of multiply-adds:
//     the eager part computes start + W0·x0 …, the core part goes on from there, so that no bit changes;
//   * values carried over are states "<name>.<number of the value>" that the core gathers.
// A cell that gathers nothing, a cell without such a product, and both parts of a split cell stay as they
// are, and so does a cell that has no gather left for the eager part.
Result<SplitCell> split_cell(const Cell& cell, const GivenGathers& given = {});

}  // namespace volvox
