#include <utility>

#include "cells/ops/define.h"
#include "cells/ops/order.h"

namespace volvox {
namespace {

struct ArgmaxAxis {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const auto axis = static_cast<std::size_t>(op.attributes.integers[0]);
    const Strides strides = strides_of(row.shape(op.inputs[0]));
    const auto extent = static_cast<std::size_t>(row.shape(op.inputs[0])[axis]);
    for (std::size_t e = 0; e < row.rows(op.output); ++e) {
      std::size_t result = 0;
      for (Walk at(row.shape(op.output)); !at.done(); at.next()) {
        const Real* x = row.real(op.inputs[0], e) + at.offset(strides);
        const std::size_t best = first_largest(x, extent, static_cast<std::size_t>(strides[axis]));
        row.set_integer(op.output, static_cast<std::int32_t>(best), e, result++);
      }
    }
  }

 private:
  template <class Real>
  static std::size_t first_largest(const Real* x, std::size_t n, std::size_t stride) {
    std::size_t best = 0;
    for (std::size_t k = 1; k < n; ++k) {
      if (is_larger(x[k * stride], x[best * stride])) best = k;
    }
    return best;
  }
};

Status infer(Inference& at) {
  if (Status status = at.want(0, DType::kF32, true); !status) return status;
  if (Status status = at.attributes(1, 1, 0); !status) return status;
  std::size_t axis = 0;
  if (Status status = at.axis(0, axis); !status) return status;
  Shape shape = at.in(0).shape;
  shape[axis] = 1;
  return at.produce({DType::kI32, std::move(shape), at.in(0).ragged});
}

}  // namespace

extern const OpDef kArgmaxAxisOp;
constinit const OpDef kArgmaxAxisOp = computed_op<ArgmaxAxis>(
    "argmax_axis", 1, 0, infer, "(x; axis) -> i32, argmax along an axis, which stays with extent 1");

}  // namespace volvox
