#include <utility>

#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Transpose {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const Strides from = strides_of(row.shape(op.inputs[0]));
    const Shape& shape = row.shape(op.output);
    Strides strides{};
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      strides[axis] = from[static_cast<std::size_t>(op.attributes.integers[axis])];
    }
    for (std::size_t e = 0; e < row.rows(op.output); ++e) {
      const Real* x = row.real(op.inputs[0], e);
      Real* out = row.real(op.output, e);
      for (Walk at(shape); !at.done(); at.next()) *out++ = x[at.offset(strides)];
    }
  }
};

Status infer(Inference& at) {
  if (Status status = at.want(0, DType::kF32, true); !status) return status;
  const std::size_t axes = at.in(0).shape.size();
  if (Status status = at.attributes(axes, axes, 0); !status) return status;
  Shape shape;
  std::array<bool, kMaxAxes> taken{};
  for (std::size_t i = 0; i < axes; ++i) {
    std::size_t axis = 0;
    if (Status status = at.axis(i, axis); !status) return status;
    if (std::exchange(taken[axis], true)) return at.error("takes axis " + std::to_string(axis) + " twice");
    shape.push_back(at.in(0).shape[axis]);
  }
  return at.produce({DType::kF32, std::move(shape), at.in(0).ragged});
}

}  // namespace

extern const OpDef kTransposeOp;
constinit const OpDef kTransposeOp = computed_op<Transpose>(
    "transpose", 1, 0, infer, "(x; an axis of x for each of the value) -> the axes in this order");

}  // namespace volvox
