#include <algorithm>

#include "cells/ops/define.h"

namespace volvox {
namespace {

struct SegmentSoftmax {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const std::size_t n = row.width(op.output), edges = row.edges();
    row.scratch().assign(2 * n, Real{0});
    Real *largest = row.scratch().data(), *sum = largest + n;
    for (std::size_t e = 0; e < edges; ++e) {
      const Real* x = row.real(op.inputs[0], e);
      for (std::size_t k = 0; k < n; ++k) largest[k] = e == 0 || x[k] > largest[k] ? x[k] : largest[k];
    }
    for (std::size_t e = 0; e < edges; ++e) {
      const Real* x = row.real(op.inputs[0], e);
      Real* out = row.real(op.output, e);
      for (std::size_t k = 0; k < n; ++k) out[k] = x[k] - largest[k];
      row.math().exp(out, out, n);
      for (std::size_t k = 0; k < n; ++k) sum[k] += out[k];
    }
    for (std::size_t e = 0; e < edges; ++e) {
      Real* out = row.real(op.output, e);
      for (std::size_t k = 0; k < n; ++k) out[k] = out[k] / sum[k];
    }
  }
};

Status infer(Inference& at) {
  if (Status status = at.want(0, DType::kF32, true); !status) return status;
  if (Status status = at.want_ragged(0); !status) return status;
  return at.produce({DType::kF32, at.in(0).shape, true});
}

}  // namespace

extern const OpDef kSegmentSoftmaxOp;
constinit const OpDef kSegmentSoftmaxOp = computed_op<SegmentSoftmax>(
    "segment_softmax", 1, 0, infer,
    "(ragged) -> ragged, exp(x − the largest) / their sum, over the predecessors, element by element");

}  // namespace volvox
