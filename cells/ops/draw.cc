#include <cstddef>

#include "cells/ops/define.h"

namespace volvox {
namespace {

// The last element of a positive weight takes what rounding leaves.
struct Draw {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const Real* weights = row.real(op.inputs[0]);
    const std::size_t n = row.width(op.inputs[0]);
    Real sum{0};
    for (std::size_t k = 0; k < n; ++k) sum += weights[k] > Real{0} ? weights[k] : Real{0};
    const Real wanted = *row.real(op.inputs[1]) * sum;
    std::size_t found = 0;
    Real passed{0};
    for (std::size_t k = 0; k < n; ++k) {
      if (!(weights[k] > Real{0})) continue;
      found = k;
      passed += weights[k];
      if (passed > wanted) break;
    }
    row.set_integer(op.output, static_cast<std::int32_t>(found));
  }
};

Status infer(Inference& at) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (Status status = at.want(i, DType::kF32, false); !status) return status;
  }
  if (Status status = at.want_vector(0); !status) return status;
  if (!at.in(1).shape.empty())
    return at.error("input 1 has the shape " + to_string(at.in(1).shape) + ", needs []");
  return at.produce({DType::kI32, {}, false});
}

}  // namespace

extern const OpDef kDrawOp;
constinit const OpDef kDrawOp =
    computed_op<Draw>("draw", 2, 0, infer,
                      "(weights, u) -> i32, the first index up to which a vector's weights have a sum of "
                      "more than u of the whole; "
                      "what is not above 0 is never drawn, but for 0 where nothing is");

}  // namespace volvox
