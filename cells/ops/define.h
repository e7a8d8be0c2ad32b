#pragma once

#include <string_view>

#include "cells/ir/inference.h"
#include "cells/ops/op.h"
#include "cells/ops/ops.h"
#include "cells/ops/row_values.h"

namespace volvox {

// For the sources of operators. Op::row(RowValues<Real>&, const Operator&) computes a row, for any Real.
template <class Op>
constexpr OpDef computed_op(std::string_view name, int inputs, int weights, Status (*infer)(Inference&)) {
  OpDef def;
  def.name = name;
  def.inputs = inputs;
  def.weights = weights;
  def.infer = infer;
  def.evaluate_f64 = &Op::template row<double>;
  def.evaluate_f32 = &Op::template row<float>;
  return def;
}

// The same for one whose ragged first input becomes a single row.
template <class Op>
constexpr OpDef folding_op(std::string_view name, int inputs, Status (*infer)(Inference&)) {
  OpDef def = computed_op<Op>(name, inputs, 0, infer);
  def.folds = true;
  return def;
}

// An operator that computes each element from the same element of its inputs, 1 to 3 vectors of one shape:
// F::of(const RealMath<Real>&, Real a, Real b …), with as many as F::kInputs. Where an input is ragged and
// another is not, the other is used for every predecessor.
template <class F>
struct Pointwise {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const RealMath<Real>& math = row.math();
    const std::size_t n = row.width(op.output);
    for (std::size_t e = 0; e < row.rows(op.output); ++e) {
      Real* out = row.real(op.output, e);
      const Real* a = row.real(op.inputs[0], e);
      if constexpr (F::kInputs == 1) {
        for (std::size_t k = 0; k < n; ++k) out[k] = F::of(math, a[k]);
      } else if constexpr (F::kInputs == 2) {
        const Real* b = row.real(op.inputs[1], e);
        for (std::size_t k = 0; k < n; ++k) out[k] = F::of(math, a[k], b[k]);
      } else {
        const Real *b = row.real(op.inputs[1], e), *c = row.real(op.inputs[2], e);
        for (std::size_t k = 0; k < n; ++k) out[k] = F::of(math, a[k], b[k], c[k]);
      }
    }
  }
};

template <class F>
constexpr OpDef pointwise_op(std::string_view name) {
  OpDef def = computed_op<Pointwise<F>>(name, F::kInputs, 0, [](Inference& at) { return at.elementwise(); });
  def.pointwise = true;
  return def;
}

}  // namespace volvox
