#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cells/ir/convolution.h"

namespace volvox {

// How the kernels of a convolution are their own mirror images: the weights of tap `first + i` and of tap
// `axis - first - i` are equal in the first `even` kernels, and opposite in the others. So are the filters of
// a Fourier transform over frames of sound, and those of a filter bank. The inputs of a pair of taps are then
// added, or subtracted, and multiplied once: half of the products.
struct Mirror {
  std::int64_t axis = 0, first = 0;
  std::int64_t pairs = 0;  // 0: there is no mirror
  std::int64_t even = 0;

  explicit operator bool() const { return pairs > 0; }

  std::int64_t rest(std::int64_t window) const { return window - 2 * pairs; }  // taps of no pair
  std::int64_t folded(std::int64_t window) const { return window - pairs; }    // numbers that are multiplied
  // f(tap) for those of no pair, ascending.
  template <class F>
  void for_rest(std::int64_t window, F f) const {
    for (std::int64_t tap = 0; tap < first; ++tap) f(tap);
    if (axis % 2 == 0) f(axis / 2);
    for (std::int64_t tap = axis - first + 1; tap < window; ++tap) f(tap);
  }
};

// Of `kernels`, c.weight_shape() row by row. Only a conv1d of one channel without gaps has one, whose kernels
// are so many and so long that it is worth the additions. Weights are compared bit by bit but for the sign.
Mirror find_mirror(const Convolution& c, const float* kernels);

// The numbers that a window's even kernels (sign 1) or odd ones (-1) are multiplied with: pairs first, then
// the rest, folded() of them.
template <class Real>
void fold_window(const Mirror& mirror, std::int64_t window, const Real* x, Real sign, Real* to) {
  const Real* left = x + mirror.first;
  const Real* right = x + mirror.axis - mirror.first;
  for (std::int64_t i = 0; i < mirror.pairs; ++i) *to++ = *left++ + sign * *right--;
  mirror.for_rest(window, [&](std::int64_t tap) { *to++ = x[tap]; });
}

// The weights of `kernels` kernels in that order: [kernels][folded].
std::vector<float> fold_kernels(const Mirror& mirror, std::int64_t window, const float* kernels,
                                std::int64_t count);

}  // namespace volvox
