#pragma once

#include <string>
#include <utility>

#include "cells/ir/infer.h"
#include "cells/ops/define.h"

namespace volvox {

// An operator that surrounds x with elements: as many before each axis, then as many after each axis, as its
// integers say. F::value(const Operator&, const Real* x, const Shape&, const Walk& at) is the element of x,
// or whatever stands outside of it, where `at` counts from the first added element.
template <class F>
struct Pad {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    for (std::size_t e = 0; e < row.rows(op.output); ++e) {
      const Real* x = row.real(op.inputs[0], e);
      Real* out = row.real(op.output, e);
      for (Walk at(row.shape(op.output)); !at.done(); at.next()) {
        *out++ = F::value(op, x, row.shape(op.inputs[0]), at);
      }
    }
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
