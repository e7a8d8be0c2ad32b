#include <limits>

#include "cells/ops/define.h"

namespace volvox {
namespace {

// 2^31, the first that is too large.
constexpr float kPastLargest = 0x1p31F;

template <class Real>
std::int32_t truncated(Real x) {
  if (x != x) return 0;
  if (x >= static_cast<Real>(kPastLargest)) return std::numeric_limits<std::int32_t>::max();
  if (x <= static_cast<Real>(-kPastLargest)) return std::numeric_limits<std::int32_t>::min();
  return static_cast<std::int32_t>(x);
}

struct ToI32 {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    for (std::size_t e = 0; e < row.rows(op.output); ++e) {
      const Real* x = row.real(op.inputs[0], e);
      for (std::size_t k = 0; k < row.width(op.output); ++k)
        row.set_integer(op.output, truncated(x[k]), e, k);
    }
  }
};

Status infer(Inference& at) {
  if (Status status = at.want(0, DType::kF32, true); !status) return status;
  return at.produce({DType::kI32, at.in(0).shape, at.in(0).ragged});
}

}  // namespace

extern const OpDef kToI32Op;
constinit const OpDef kToI32Op = computed_op<ToI32>(
    "to_i32", 1, 0, infer,
    "(x) -> i32, without the fraction; the nearest there is of what does not fit, 0 for a NaN");

}  // namespace volvox
