#pragma once

#include <cstddef>
#include <vector>

#include "cpu/aligned_buffer.h"

namespace volvox::cpu {

// What one thread needs to interpret a chunk of rows: a pointer for each row of each value, and memory for
// the values that are computed.
struct GenericScratch {
  using Rows = std::vector<const float*>;  // to elements of whatever type the value has

  std::vector<Rows> rows;      // [value][row or edge]
  std::vector<Rows> spread;    // row pointers repeated for each edge, by operand
  std::vector<float*> memory;  // [value] begin of its rows
  std::vector<float*> out;     // rows of the product under way
  AlignedBuffer buffer;
  AlignedBuffer parked;  // accumulators of a product
};

}  // namespace volvox::cpu
