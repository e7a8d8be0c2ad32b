#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "cells/ir/infer.h"
#include "cells/ops/define.h"

namespace volvox {

// An operator that surrounds x with elements: as many before each axis, then as many after each axis, as its
// integers say. F::index(index, extent) is which of an axis's elements stands at an index that counts from
// the first of x, less than 0 where it is none of them: then the first of the operator's reals stands there.
template <class F>
struct Pad {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const Shape& shape = row.shape(op.inputs[0]);
    const std::size_t axes = outer_axes(shape);
    for (std::size_t e = 0; e < row.rows(op.output); ++e) {
      Real* out = row.real(op.output, e);
      for (Walk at(row.shape(op.output), axes); !at.done(); at.next()) {
        std::int64_t offset = 0;
        for (std::size_t axis = 0; axis < axes && offset >= 0; ++axis) {
          const std::int64_t index = F::index(at[axis] - op.attributes.integers[axis], shape[axis]);
          offset = index < 0 ? -1 : offset * shape[axis] + index;
        }
        out = surround(op, offset < 0 ? nullptr : row.real(op.inputs[0], e) + offset * extent(shape), shape,
                       out);
      }
    }
  }

 private:
  static std::int64_t extent(const Shape& shape) { return static_cast<std::int64_t>(run_length(shape)); }

  // A run along the last axis; null: all of it stands outside of x. Returns its end.
  template <class Real>
  static Real* surround(const Operator& op, const Real* run, const Shape& shape, Real* out) {
    const std::int64_t n = extent(shape);
    const std::int64_t before = shape.empty() ? 0 : op.attributes.integers[shape.size() - 1];
    const std::int64_t after = shape.empty() ? 0 : op.attributes.integers[2 * shape.size() - 1];
    const Real outside = op.attributes.reals.empty() ? Real{0} : static_cast<Real>(op.attributes.reals[0]);
    const auto element = [&](std::int64_t at) {
      const std::int64_t index = run == nullptr ? -1 : F::index(at, n);
      return index < 0 ? outside : run[index];
    };
    for (std::int64_t at = -before; at < 0; ++at) *out++ = element(at);
    out = run == nullptr ? std::fill_n(out, n, outside) : std::copy_n(run, n, out);
    for (std::int64_t at = n; at < n + after; ++at) *out++ = element(at);
    return out;
  }
};

// Infers one that cannot add more before or after an axis than `room` less than its extent; none: any number.
inline Status infer_pad(Inference& at, std::size_t reals, bool has_room, std::int64_t room) {
  if (Status status = at.want(0, DType::kF32, true); !status) return status;
  Shape shape = at.in(0).shape;
  const std::size_t axes = shape.size();
  if (Status status = at.attributes(2 * axes, 2 * axes, reals); !status) return status;
  for (std::size_t i = 0; i < 2 * axes; ++i) {
    const std::int64_t added = at.op().attributes.integers[i], extent = at.in(0).shape[i % axes];
    if (added < 0 || added > kMaxValueElements || (has_room && added > extent - room)) {
      return at.error("cannot add " + std::to_string(added) + " elements to an axis of " +
                      std::to_string(extent));
    }
    shape[i % axes] += added;
  }
  return at.produce({DType::kF32, std::move(shape), at.in(0).ragged});
}

}  // namespace volvox
