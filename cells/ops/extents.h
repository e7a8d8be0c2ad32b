#pragma once

#include <string>

#include "cells/ir/inference.h"

namespace volvox {

// Whether windows can be slid over input 0 as `c` says.
inline Status check_extents(const Inference& at, const Convolution& c) {
  constexpr std::int64_t kMaxExtent = 65536;
  for (const std::int64_t extent :
       {c.channels, c.height, c.width, c.kernels, c.kernel_height, c.kernel_width, c.stride[0], c.stride[1],
        c.padding[0] + 1, c.padding[1] + 1, c.groups, c.dilation[0], c.dilation[1]}) {
    if (extent < 1 || extent > kMaxExtent) {
      return at.error("its extents, strides, groups and gaps are 1 to " + std::to_string(kMaxExtent) +
                      ", its padding not negative");
    }
  }
  if (c.inputs() != elements(at.in(0).shape)) {
    return at.error("its input has " + std::to_string(elements(at.in(0).shape)) + " elements, needs " +
                    std::to_string(c.inputs()) + ": channels, height, width");
  }
  return c.positions() < 1 ? at.error("its kernel is larger than its input") : Status{};
}

}  // namespace volvox
