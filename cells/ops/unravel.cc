#include <string>
#include <utility>

#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Unravel {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const Shape& extents = op.attributes.integers;
    const std::size_t count = row.width(op.inputs[0]);
    for (std::size_t k = 0; k < count; ++k) {
      std::int64_t left = row.template integer<std::int32_t>(op.inputs[0], 0, k);
      for (std::size_t axis = extents.size(); axis-- > 0;) {
        const std::int64_t place = axis == 0 ? left : left % extents[axis];
        row.set_integer(op.output, static_cast<std::int32_t>(place), 0, axis * count + k);
        left /= extents[axis];
      }
    }
  }
};

Status infer(Inference& at) {
  if (Status status = at.want(0, DType::kI32, false); !status) return status;
  if (Status status = at.attributes(1, kMaxAxes, 0); !status) return status;
  const Shape& extents = at.op().attributes.integers;
  for (const std::int64_t extent : extents) {
    if (extent < 1) return at.error("the shape " + to_string(extents) + " has no elements");
  }
  Shape shape = at.in(0).shape;
  shape.insert(shape.begin(), static_cast<std::int64_t>(extents.size()));
  return at.produce({DType::kI32, std::move(shape), false});
}

}  // namespace

extern const OpDef kUnravelOp;
constinit const OpDef kUnravelOp =
    computed_op<Unravel>("unravel", 1, 0, infer,
                         "(i i32; extents) -> i32, where the elements of these numbers lie in a tensor of "
                         "this shape: all places along its first "
                         "axis, then all along the next");

}  // namespace volvox
