#include <cmath>

#include "cells/ops/last_axis.h"

namespace volvox {
namespace {

// (Ba et al., 2016, §3.1)
struct LayerNorm {
  template <class Real>
  static void stretch(RowValues<Real>& row, const Operator& op, const Real* x, Real* out, std::size_t n) {
    const auto count = static_cast<Real>(n);
    const Real mean = sum_of(x, n) / count;
    for (std::size_t k = 0; k < n; ++k) out[k] = x[k] - mean;
    const Real squares = sum_in_parts<Real>(n, [out](std::size_t k) { return out[k] * out[k]; });
    const Real scale = Real{1} / std::sqrt(squares / count + static_cast<Real>(op.attributes.reals[0]));
    for (std::size_t k = 0; k < n; ++k) out[k] = out[k] * scale;
    if (row.weights().empty()) return;
    const float *weight = row.weights()[0], *bias = row.weights()[1];
    for (std::size_t k = 0; k < n; ++k) {
      out[k] = out[k] * static_cast<Real>(weight[k]) + static_cast<Real>(bias[k]);
    }
  }
};

Status infer(Inference& at) {
  const std::size_t weights = at.op().weights.empty() ? 0 : 2;
  if (Status status = at.arity(1, weights); !status) return status;
  if (Status status = needs_last_axis(at, 0); !status) return status;
  if (Status status = at.attributes(0, 0, 1); !status) return status;
  for (std::size_t i = 0; i < weights; ++i) {
    if (Status status = at.weight(i, {at.in(0).shape.back()}); !status) return status;
  }
  return at.produce({DType::kF32, at.in(0).shape, at.in(0).ragged});
}

}  // namespace

extern const OpDef kLayerNormOp;
constinit const OpDef kLayerNormOp =
    computed_op<AlongLastAxis<LayerNorm>>("layer_norm", OpDef::kAny, OpDef::kAny, infer,
                                          "(x; epsilon) -> (x − mean) / √(variance + epsilon), times a "
                                          "weight plus a bias if it has them; along the last axis");

}  // namespace volvox
