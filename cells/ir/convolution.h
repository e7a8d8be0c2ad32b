#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "cells/ir/types.h"

namespace volvox {

// What a convolution slides over what, as PyTorch's conv2d says it (there is no flip): `kernels` windows of
// [channels / groups, kernel_height, kernel_width] over x [channels, height, width], all row by row. Where
// height and kernel_height are 1 it is a conv1d. Zeros stand around x, `padding` deep; the elements of a
// window are `dilation` apart. Channels and kernels fall into `groups` of equal size, and a kernel sees its
// own group's channels. Pairs are of height, width.
struct Convolution {
  std::int64_t channels = 1, height = 1, width = 1;
  std::int64_t kernels = 1, kernel_height = 1, kernel_width = 1;
  std::array<std::int64_t, 2> stride{1, 1}, padding{0, 0};
  std::int64_t groups = 1;
  std::array<std::int64_t, 2> dilation{1, 1};
  bool summed_again = false;  // see infer_sums()

  bool operator==(const Convolution&) const = default;

  // Of the result [kernels, out_height, out_width]; less than 1: the kernel does not fit.
  std::int64_t out_height() const { return extent(height, kernel_height, 0); }
  std::int64_t out_width() const { return extent(width, kernel_width, 1); }
  std::int64_t positions() const { return out_height() * out_width(); }
  std::int64_t inputs() const { return channels * height * width; }
  std::int64_t outputs() const { return kernels * positions(); }
  std::int64_t group_channels() const { return channels / groups; }
  std::int64_t group_kernels() const { return kernels / groups; }
  std::int64_t window() const { return group_channels() * kernel_height * kernel_width; }
  // Of the weights: [kernels, channels / groups, kernel_height, kernel_width]; of a conv1d without the
  // height.
  Shape weight_shape() const {
    if (height == 1 && kernel_height == 1) return {kernels, group_channels(), kernel_width};
    return {kernels, group_channels(), kernel_height, kernel_width};
  }
  double flops() const { return 2.0 * static_cast<double>(window()) * static_cast<double>(outputs()); }

  // f(at) for each element of the window of result `position` (row by row), row by row: where it lies in the
  // plane of a channel, or less than 0 where it is outside.
  template <class F>
  void for_window(std::int64_t position, F f) const {
    const std::int64_t top = position / out_width() * stride[0] - padding[0];
    const std::int64_t left = position % out_width() * stride[1] - padding[1];
    const std::int64_t bottom = top + kernel_height * dilation[0], right = left + kernel_width * dilation[1];
    for (std::int64_t row = top; row < bottom; row += dilation[0]) {
      for (std::int64_t column = left; column < right; column += dilation[1]) {
        const bool inside = row >= 0 && row < height && column >= 0 && column < width;
        f(inside ? row * width + column : -1);
      }
    }
  }

  // f(at) for those of them that lie inside, in that order: in a time that does not grow with a kernel that
  // is larger than x.
  template <class F>
  void for_inside(std::int64_t position, F f) const {
    const auto first = [](std::int64_t from, std::int64_t step) {
      return from >= 0 ? from : from + (step - 1 - from) / step * step;
    };
    const std::int64_t top = position / out_width() * stride[0] - padding[0];
    const std::int64_t left = position % out_width() * stride[1] - padding[1];
    const std::int64_t bottom = std::min(top + kernel_height * dilation[0], height);
    const std::int64_t right = std::min(left + kernel_width * dilation[1], width);
    for (std::int64_t row = first(top, dilation[0]); row < bottom; row += dilation[0]) {
      for (std::int64_t column = first(left, dilation[1]); column < right; column += dilation[1])
        f(row * width + column);
    }
  }

 private:
  std::int64_t extent(std::int64_t of_x, std::int64_t of_kernel, std::size_t axis) const {
    const std::int64_t room = of_x + 2 * padding[axis] - dilation[axis] * (of_kernel - 1) - 1;
    return room < 0 ? 0 : room / stride[axis] + 1;
  }
};

// Copies the elements of x that the kernels of a group make result `position` (row by row) of, window() of
// them, tap by tap: of each its channels, zeros outside of x. In this order they are multiplied and added, so
// that the taps that lie in x can be taken from where they lie, if the channels of an element stand together.
template <class Real>
void copy_window(const Convolution& c, const Real* x, std::int64_t position, Real* to,
                 std::int64_t group = 0) {
  const std::int64_t plane = c.height * c.width;
  const Real* first = x + group * c.group_channels() * plane;
  c.for_window(position, [&](std::int64_t at) {
    for (std::int64_t channel = 0; channel < c.group_channels(); ++channel)
      *to++ = at < 0 ? Real{0} : first[channel * plane + at];
  });
}

// Copies a kernel's weights in that order.
inline void copy_kernel(const Convolution& c, const float* kernel, float* to) {
  const std::int64_t taps = c.kernel_height * c.kernel_width;
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    for (std::int64_t channel = 0; channel < c.group_channels(); ++channel)
      *to++ = kernel[channel * taps + tap];
  }
}

}  // namespace volvox
