#include <algorithm>

#include "cells/ops/define.h"

namespace volvox {
namespace {

struct SegmentSum {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const std::size_t n = row.width(op.output);
    Real* out = row.real(op.output);
    std::fill_n(out, n, Real{0});
    for (std::size_t e = 0; e < row.edges(); ++e) {
      const Real* in = row.real(op.inputs[0], e);
      for (std::size_t k = 0; k < n; ++k) out[k] += in[k];
    }
  }
};

Status infer(Inference& at) {
  if (Status status = at.want(0, DType::kF32, true); !status) return status;
  if (Status status = at.want_ragged(0); !status) return status;
  return at.produce({DType::kF32, at.in(0).shape, false});
}

}  // namespace

constinit const OpDef kSegmentSumOp = folding_op<SegmentSum>(
    "segment_sum", 1, infer, "(ragged) -> the sum over the predecessors, in their order; 0 for none");

}  // namespace volvox
