#include <algorithm>

#include "cells/ops/define.h"

namespace volvox {
namespace {

struct SegmentMean {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const std::size_t n = row.width(op.output);
    Real* out = row.real(op.output);
    std::fill_n(out, n, Real{0});
    for (std::size_t e = 0; e < row.edges(); ++e) {
      const Real* x = row.real(op.inputs[0], e);
      for (std::size_t k = 0; k < n; ++k) out[k] += x[k];
    }
    if (row.edges() == 0) return;
    for (std::size_t k = 0; k < n; ++k) out[k] = out[k] / static_cast<Real>(row.edges());
  }
};

Status infer(Inference& at) {
  if (Status status = at.want(0, DType::kF32, true); !status) return status;
  if (Status status = at.want_ragged(0); !status) return status;
  return at.produce({DType::kF32, at.in(0).shape, false});
}

}  // namespace

extern const OpDef kSegmentMeanOp;
constinit const OpDef kSegmentMeanOp = folding_op<SegmentMean>(
    "segment_mean", 1, infer, "(ragged) -> segment_sum / the number of predecessors; 0 for none");

}  // namespace volvox
