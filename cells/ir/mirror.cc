#include "cells/ir/mirror.h"

#include <algorithm>

namespace volvox {
namespace {

// Fewer cost about as much to add as to multiply.
constexpr std::int64_t kLeastTaps = 32, kLeastKernels = 16;

}  // namespace

Mirror find_mirror(const Convolution& c, const float* kernels) {
  const std::int64_t window = c.kernel_width;
  // A line with its padding is not much longer than the input, which is what memory is planned for.
  const bool line = 2 * c.padding[1] <= c.width && c.height == 1 && c.kernel_height == 1 &&
                    c.padding[0] == 0 && c.dilation[1] == 1;
  if (!line || c.channels != 1 || window < kLeastTaps || c.kernels < kLeastKernels) return {};
  // About the middle, and about a sample, as filters of an even length are whose window begins with 0.
  for (const std::int64_t axis : {window - 1, window, window - 2}) {
    Mirror mirror{.axis = axis, .first = std::max<std::int64_t>(axis - window + 1, 0)};
    mirror.pairs = (axis + 1) / 2 - mirror.first;
    const auto mirrors = [&](std::int64_t kernel, float sign) {
      const float* left = kernels + kernel * window + mirror.first;
      const float* right = kernels + kernel * window + axis - mirror.first;
      for (std::int64_t i = 0; i < mirror.pairs; ++i) {
        if (*left++ != sign * *right--) return false;
      }
      return true;
    };
    while (mirror.even < c.kernels && mirrors(mirror.even, 1.0F)) ++mirror.even;
    std::int64_t odd = mirror.even;
    while (odd < c.kernels && mirrors(odd, -1.0F)) ++odd;
    if (odd == c.kernels) return mirror;
  }
  return {};
}

std::vector<float> fold_kernels(const Mirror& mirror, std::int64_t window, const float* kernels,
                                std::int64_t count) {
  std::vector<float> folded;
  folded.reserve(static_cast<std::size_t>(count * mirror.folded(window)));
  for (std::int64_t kernel = 0; kernel < count; ++kernel) {
    const float* taps = kernels + kernel * window;
    folded.insert(folded.end(), taps + mirror.first, taps + mirror.first + mirror.pairs);
    mirror.for_rest(window, [&](std::int64_t tap) { folded.push_back(taps[tap]); });
  }
  return folded;
}

}  // namespace volvox
