#include <algorithm>
#include <string>
#include <utility>

#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Part {
  std::int64_t begin, end, step;
};

Part part_of(const Operator& op) {
  const auto& integers = op.attributes.integers;
  return {integers[1], integers[2], integers.size() > 3 ? integers[3] : 1};
}

struct SliceAxis {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const auto axis = static_cast<std::size_t>(op.attributes.integers[0]);
    const Part part = part_of(op);
    const Shape& shape = row.shape(op.inputs[0]);
    const std::int64_t taken = row.shape(op.output)[axis];
    const std::int64_t inner = strides_of(shape)[axis], whole = shape[axis] * inner;
    for (std::size_t e = 0; e < row.rows(op.output); ++e) {
      const Real* x = row.real(op.inputs[0], e);
      const Real* const last = x + row.width(op.inputs[0]);
      Real* out = row.real(op.output, e);
      for (; x != last; x += whole) {
        for (std::int64_t i = 0; i < taken; ++i)
          out = std::copy_n(x + (part.begin + i * part.step) * inner, inner, out);
      }
    }
  }
};

Status infer(Inference& at) {
  if (Status status = at.want(0, DType::kF32, true); !status) return status;
  if (Status status = at.attributes(3, 4, 0); !status) return status;
  std::size_t axis = 0;
  if (Status status = at.axis(0, axis); !status) return status;
  Shape shape = at.in(0).shape;
  const auto [begin, end, step] = part_of(at.op());
  if (begin < 0 || begin >= end || end > shape[axis] || step < 1) {
    return at.error("elements [" + std::to_string(begin) + ", " + std::to_string(end) + "), every " +
                    std::to_string(step) + "th, are no part of an axis of " + std::to_string(shape[axis]));
  }
  shape[axis] = (end - begin - 1) / step + 1;
  return at.produce({DType::kF32, std::move(shape), at.in(0).ragged});
}

}  // namespace

extern const OpDef kSliceAxisOp;
constinit const OpDef kSliceAxisOp = computed_op<SliceAxis>(
    "slice_axis", 1, 0, infer,
    "(x; axis, begin, end, step) -> a part of x along an axis; without a step all of it");

}  // namespace volvox
