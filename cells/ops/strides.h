#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "cells/ir/inference.h"
#include "cells/ir/types.h"

namespace volvox {

// How far it is, in elements, from one element to the next along each axis.
using Strides = std::array<std::int64_t, kMaxAxes>;

// Of a tensor whose elements lie row by row.
inline Strides strides_of(const Shape& shape) {
  Strides strides{};
  std::int64_t step = 1;
  for (std::size_t axis = shape.size(); axis-- > 0; step *= shape[axis]) strides[axis] = step;
  return strides;
}

// Of a tensor of shape `from` that is repeated to have the shape `to`, see spread_shape(): 0 along an axis
// where it has one element for all.
inline Strides spread_strides(const Shape& from, const Shape& to) {
  const Strides own = strides_of(from);
  Strides strides{};
  const std::size_t missing = to.size() - from.size();
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    strides[missing + axis] = from[axis] == 1 ? 0 : own[axis];
  }
  return strides;
}

// A shape's elements come in runs along its last axis, as many as its other axes have elements.
inline std::size_t outer_axes(const Shape& shape) {
  return shape.empty() ? 0 : shape.size() - 1;
}
inline std::size_t run_length(const Shape& shape) {
  return shape.empty() ? 1 : static_cast<std::size_t>(shape.back());
}

// Goes through the elements of a shape, or of its first `axes` axes, row by row.
//   for (Walk at(shape); !at.done(); at.next()) … at[axis] …
class Walk {
 public:
  explicit Walk(const Shape& shape) : Walk(shape, shape.size()) {}
  Walk(const Shape& shape, std::size_t axes) : shape_(shape), axes_(axes) {}

  bool done() const { return done_; }
  void next() {
    for (std::size_t axis = axes_; axis-- > 0;) {
      if (++index_[axis] < shape_[axis]) return;
      index_[axis] = 0;
    }
    done_ = true;
  }
  std::int64_t operator[](std::size_t axis) const { return index_[axis]; }
  // Where the element lies in a tensor with these strides.
  std::int64_t offset(const Strides& strides) const {
    std::int64_t at = 0;
    for (std::size_t axis = 0; axis < axes_; ++axis) at += index_[axis] * strides[axis];
    return at;
  }

 private:
  const Shape& shape_;
  const std::size_t axes_;
  std::array<std::int64_t, kMaxAxes> index_{};
  bool done_ = false;
};

}  // namespace volvox
