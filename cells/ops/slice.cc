#include <algorithm>
#include <string>

#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Slice {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    for (std::size_t e = 0; e < row.rows(op.output); ++e) {
      const Real* from = row.real(op.inputs[0], e);
      std::copy(from + op.begin, from + op.end, row.real(op.output, e));
    }
  }
};

Status infer(Inference& at) {
  if (Status status = at.want_vector(0); !status) return status;
  const Operator& op = at.op();
  if (op.begin < 0 || op.begin >= op.end || op.end > at.in(0).shape[0]) {
    return at.error("elements [" + std::to_string(op.begin) + ", " + std::to_string(op.end) +
                    ") is no part of a vector of " + std::to_string(at.in(0).shape[0]));
  }
  return at.produce({DType::kF32, {op.end - op.begin}, at.in(0).ragged});
}

}  // namespace

constinit const OpDef kSliceOp =
    computed_op<Slice>("slice", 1, 0, infer, "(x; begin, end) -> a part of a vector");

}  // namespace volvox
