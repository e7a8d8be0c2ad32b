#include "cells/ops/last_axis.h"

namespace volvox {
namespace {

struct Softmax {
  template <class Real>
  static void stretch(RowValues<Real>& row, const Operator&, const Real* x, Real* out, std::size_t n) {
    const Real largest = largest_of(x, n);
    for (std::size_t k = 0; k < n; ++k) out[k] = x[k] - largest;
    row.math().exp(out, out, n);
    const Real sum = sum_of(out, n);
    for (std::size_t k = 0; k < n; ++k) out[k] = out[k] / sum;
  }
};

Status infer(Inference& at) {
  if (Status status = needs_last_axis(at, 0); !status) return status;
  return at.produce({DType::kF32, at.in(0).shape, at.in(0).ragged});
}

}  // namespace

extern const OpDef kSoftmaxOp;
constinit const OpDef kSoftmaxOp = computed_op<AlongLastAxis<Softmax>>(
    "softmax", 1, 0, infer, "(x) -> exp(x − the largest) / their sum, along the last axis");

}  // namespace volvox
