#pragma once

#include <cstddef>
#include <vector>

#include "cells/ir/cell.h"

namespace volvox::cpu {

// How a value of several channels lies in memory: with one position, channel by channel, as its shape says.
// With more it is turned: position by position, and of each the channels.
struct ValueLayout {
  std::size_t positions = 1;
  std::size_t pitch = 0;  // turned: floats from a position to the next; more than it has where it is a part

  bool is_turned() const { return positions > 1; }
  bool operator==(const ValueLayout&) const = default;
};

// Which values of a cell are turned, by value. A convolution makes its results position by position, and one
// that reads its windows where they lie wants the channels of an element side by side. So what lies between
// two of them stays turned, if nobody reads it but operators that care for no order (pointwise ones, new
// shapes) and slices of whole channels: the elements are moved neither after the first convolution nor before
// the second.
std::vector<ValueLayout> find_turned(const Cell& cell);

}  // namespace volvox::cpu
