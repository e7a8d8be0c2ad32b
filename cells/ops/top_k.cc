#include "cells/ops/top_k.h"

namespace volvox {
namespace {

template <class Real>
void keep_top(const Real* x, std::size_t n, std::size_t k, Real* best) {
  keep_first(
      n, k, best, [x](std::size_t i) { return x[i]; }, [](Real a, Real b) { return is_larger(a, b); });
}

struct TopK {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const std::size_t n = last_extent(row, op.inputs[0]),
                      k = static_cast<std::size_t>(op.attributes.integers[0]);
    for (std::size_t e = 0; e < row.rows(op.output); ++e) {
      const Real* x = row.real(op.inputs[0], e);
      Real* best = row.real(op.output, e);
      for (std::size_t at = 0; at < row.width(op.inputs[0]); at += n, best += k) keep_top(x + at, n, k, best);
    }
  }
};

Status infer(Inference& at) {
  return infer_top(at, DType::kF32);
}

}  // namespace

extern const OpDef kTopKOp;
constinit const OpDef kTopKOp =
    computed_op<TopK>("top_k", 1, 0, infer,
                      "(x; k) -> the k largest along the last axis, largest first; a NaN is less than all "
                      "else");

}  // namespace volvox
