#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "cells/ir/types.h"

namespace volvox {

// What a convolution slides over what, as PyTorch's conv2d says it (there is no flip): `kernels` windows of
// [channels, kernel_height, kernel_width] over x [channels, height, width], all row by row. Where height and
// kernel_height are 1 it is a conv1d. Zeros stand around x, `padding` deep. Pairs are of height, width.
struct Convolution {
  std::int64_t channels = 1, height = 1, width = 1;
  std::int64_t kernels = 1, kernel_height = 1, kernel_width = 1;
  std::array<std::int64_t, 2> stride{1, 1}, padding{0, 0};

  bool operator==(const Convolution&) const = default;

  // Of the result [kernels, out_height, out_width]; less than 1: the kernel does not fit.
  std::int64_t out_height() const { return extent(height + 2 * padding[0] - kernel_height, stride[0]); }
  std::int64_t out_width() const { return extent(width + 2 * padding[1] - kernel_width, stride[1]); }
  std::int64_t positions() const { return out_height() * out_width(); }
  std::int64_t inputs() const { return channels * height * width; }
  std::int64_t outputs() const { return kernels * positions(); }
  std::int64_t window() const { return channels * kernel_height * kernel_width; }
  // Of the weights: [kernels, channels, kernel_height, kernel_width]; of a conv1d without the height.
  Shape weight_shape() const {
    if (height == 1 && kernel_height == 1) return {kernels, channels, kernel_width};
    return {kernels, channels, kernel_height, kernel_width};
  }
  double flops() const { return 2.0 * static_cast<double>(window()) * static_cast<double>(outputs()); }

 private:
  static std::int64_t extent(std::int64_t room, std::int64_t stride) {
    return room < 0 ? 0 : room / stride + 1;
  }
};

// Copies the elements of x that result `position` (row by row) is made of, window() of them, in the order of
// a kernel's weights.
template <class Real>
void copy_window(const Convolution& c, const Real* x, std::int64_t position, Real* to) {
  const std::int64_t top = position / c.out_width() * c.stride[0] - c.padding[0];
  const std::int64_t left = position % c.out_width() * c.stride[1] - c.padding[1];
  for (std::int64_t channel = 0; channel < c.channels; ++channel) {
    for (std::int64_t row = top; row < top + c.kernel_height; ++row) {
      for (std::int64_t column = left; column < left + c.kernel_width; ++column) {
        const bool inside = row >= 0 && row < c.height && column >= 0 && column < c.width;
        *to++ = inside ? x[(channel * c.height + row) * c.width + column] : Real{0};
      }
    }
  }
}

}  // namespace volvox
