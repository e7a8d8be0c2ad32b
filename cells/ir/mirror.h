#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cells/ir/cell.h"
#include "cells/ir/convolution.h"

namespace volvox {

// How the kernels of a convolution are their own mirror images: the weights of tap `first + i` and of tap
// `axis - first - i` are equal in the first `even` kernels, and opposite in the others. So are the filters of
// a Fourier transform over frames of sound, and those of a filter bank. The inputs of a pair of taps are then
// added, or subtracted, and multiplied once: half of the products.
//
// The filters of a Fourier transform are twins, too: of the n even kernels, kernel n - 1 - k is kernel k with
// the weights of odd taps turned to their opposites; of the others with those of even taps. So the taps are
// multiplied in two phases, the even ones and the odd ones, for the first half of the kernels, and each twin
// is the difference of what its kernel is the sum of: a quarter of the products. The middle one of an odd
// number is its own twin, and has one phase.
struct Mirror {
  std::int64_t axis = 0, first = 0;
  std::int64_t pairs = 0;  // 0: there is no mirror
  std::int64_t even = 0;
  std::int64_t phases = 1;  // 2: kernels are twins; the axis is even then, so that a pair is of one phase

  explicit operator bool() const { return pairs > 0; }

  // Numbers that are multiplied: of both taps of each pair, and of those of no pair. In all; of one phase.
  std::int64_t folded(std::int64_t window) const { return window - pairs; }
  std::int64_t folded(std::int64_t window, std::int64_t phase) const;
  // The first tap of a pair in that phase, and how many there are, `phases` taps apart.
  std::int64_t first_of(std::int64_t phase) const {
    return first + (phase + phases - first % phases) % phases;
  }
  std::int64_t pairs_of(std::int64_t phase) const;
  // f(tap) for those of no pair in that phase, ascending.
  template <class F>
  void for_rest(std::int64_t window, std::int64_t phase, F f) const {
    const auto visit = [&](std::int64_t tap) {
      if (tap % phases == phase) f(tap);
    };
    for (std::int64_t tap = 0; tap < first; ++tap) visit(tap);
    if (axis % 2 == 0) visit(axis / 2);
    for (std::int64_t tap = axis - first + 1; tap < window; ++tap) visit(tap);
  }

  // Of `count` kernels, all even or all odd, the first so many are multiplied.
  std::int64_t multiplied(std::int64_t count) const { return (count + phases - 1) / phases; }
  // The phase whose products a kernel and its twin have in common; those of the other one are opposite.
  static std::int64_t common_phase(bool is_even) { return is_even ? 0 : 1; }
};

// Of `kernels`, c.weight_shape() row by row. Only a conv1d of one channel without gaps has one that is summed
// again, and whose kernels are so many and so long that it is worth the additions; twins have no biases, too.
// Weights are compared bit by bit but for the sign.
Mirror find_mirror(const Convolution& c, const float* kernels, bool has_biases);

// The numbers that a window's even kernels (sign 1) or odd ones (-1) are multiplied with: phase by phase,
// pairs first, then the rest, folded() of them.
template <class Real>
void fold_window(const Mirror& mirror, std::int64_t window, const Real* x, Real sign, Real* to) {
  for (std::int64_t phase = 0; phase < mirror.phases; ++phase) {
    const Real* left = x + mirror.first_of(phase);
    const Real* right = x + mirror.axis - mirror.first_of(phase);
    const std::int64_t pairs = mirror.pairs_of(phase);
    for (std::int64_t i = 0; i < pairs; ++i)
      *to++ = left[i * mirror.phases] + sign * right[-i * mirror.phases];
    mirror.for_rest(window, phase, [&](std::int64_t tap) { *to++ = x[tap]; });
  }
}

// The weights of `count` kernels in that order: [count][folded].
std::vector<float> fold_kernels(const Mirror& mirror, std::int64_t window, const float* kernels,
                                std::int64_t count);

// Sums in another order are as good beside the largest of them, but not beside those that are next to
// nothing: a band that is silent, of whose energy a model takes the logarithm. So a convolution has a mirror
// only where products, or another convolution, sum up all that it gives, before a logarithm, a quotient or
// anybody outside of the cell may see it: this sets Convolution::summed_again there. Operators stand in
// execution order. What was set stays: the cell may be a part of another, which saw more.
void infer_sums(Cell& cell);

}  // namespace volvox
