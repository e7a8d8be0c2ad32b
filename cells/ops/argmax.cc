#include "cells/ops/define.h"
#include "cells/ops/order.h"

namespace volvox {
namespace {

struct Argmax {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const Real* x = row.real(op.inputs[0]);
    std::size_t best = 0;
    for (std::size_t k = 1; k < row.width(op.inputs[0]); ++k) {
      if (is_larger(x[k], x[best])) best = k;
    }
    row.set_integer(op.output, static_cast<std::int32_t>(best));
  }
};

Status infer(Inference& at) {
  if (Status status = at.want(0, DType::kF32, false); !status) return status;
  if (Status status = at.want_vector(0); !status) return status;
  return at.produce({DType::kI32, {}, false});
}

}  // namespace

constinit const OpDef kArgmaxOp = computed_op<Argmax>(
    "argmax", 1, 0, infer,
    "(x) -> i32, the index of a vector's largest element, the first of equals; a NaN is less than all else");

}  // namespace volvox
