#include "cells/ops/top_k.h"

namespace volvox {
namespace {

struct TopKIndices {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const std::size_t n = last_extent(row, op.inputs[0]),
                      k = static_cast<std::size_t>(op.attributes.integers[0]);
    for (std::size_t e = 0; e < row.rows(op.output); ++e) {
      const Real* x = row.real(op.inputs[0], e);
      auto* best = reinterpret_cast<std::int32_t*>(row.integers(op.output, e));
      for (std::size_t at = 0; at < row.width(op.inputs[0]); at += n, best += k) find_top(x + at, n, k, best);
    }
  }
};

Status infer(Inference& at) {
  return infer_top(at, DType::kI32);
}

}  // namespace

extern const OpDef kTopKIndicesOp;
constinit const OpDef kTopKIndicesOp =
    computed_op<TopKIndices>("top_k_indices", 1, 0, infer,
                             "(x; k) -> i32, the indices of the k largest along the last axis, in the order "
                             "of top_k, of equals the first "
                             "one first");

}  // namespace volvox
