#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "cells/ir/cell.h"

namespace volvox {

// An input of which each step sees more than it is given: `samples` of them, of which the last `hop` are its
// row, and those in front came with the steps before, zeros before the first step. 0 < hop < samples.
struct InputWindow {
  std::int64_t samples = 0, hop = 0;
  Shape sample{};  // the shape of one; empty for sound

  bool operator==(const InputWindow&) const = default;
};

// The row that a step is given, and what the cell sees.
Shape row_shape(const InputWindow& window);
Shape window_shape(const InputWindow& window);

// The same cell over such a window: where it reads the window as its input `pull` (f32, ones in front of its
// shape do not matter), it reads a row instead, puts the samples behind which it follows in front of it, and
// keeps the newest of them as one more state of the step before. So whatever runs cells with states runs it,
// in sessions too, and copies alone are added: the bits are those of the cell that is given whole windows.
// The error is that of a cell that reads something else; shapes still have to be inferred.
Result<Cell> over_window(const Cell& cell, std::uint32_t pull, const InputWindow& window);

}  // namespace volvox
