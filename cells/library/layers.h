#pragma once

#include <cstdint>
#include <vector>

#include "cells/ir/cell_builder.h"

namespace volvox {

// What a cell reads that lies above `lanes` other lanes: their states `h` of the same step, each of `width`
// elements, one behind the other (gathers 1, 2, …).
inline ValueId layer_input(CellBuilder& b, std::uint32_t lanes, std::int64_t width) {
  std::vector<ValueId> parts;
  for (std::uint32_t i = 1; i <= lanes; ++i) parts.push_back(b.gather(i, "h", Shape{width}));
  return lanes == 1 ? parts.front() : b.concat(parts);
}

}  // namespace volvox
