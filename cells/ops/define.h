#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "cells/ir/inference.h"
#include "cells/ops/op.h"
#include "cells/ops/ops.h"
#include "cells/ops/row_values.h"
#include "cells/ops/strides.h"

namespace volvox {

// For the sources of operators. Op::row(RowValues<Real>&, const Operator&) computes a row, for any Real.
template <class Op>
constexpr OpDef computed_op(std::string_view name, int inputs, int weights, Status (*infer)(Inference&),
                            std::string_view says) {
  OpDef def;
  def.name = name;
  def.says = says;
  def.inputs = inputs;
  def.weights = weights;
  def.infer = infer;
  def.evaluate_f64 = &Op::template row<double>;
  def.evaluate_f32 = &Op::template row<float>;
  return def;
}

// The same for one whose ragged first input becomes a single row.
template <class Op>
constexpr OpDef folding_op(std::string_view name, int inputs, Status (*infer)(Inference&),
                           std::string_view says) {
  OpDef def = computed_op<Op>(name, inputs, 0, infer, says);
  def.folds = true;
  return def;
}

// An operator that computes each element from the same element of its inputs, of which the smaller are
// repeated (spread_shape()): F::of(const RealMath<Real>&, Real a, Real b …), with as many as F::kInputs.
// Where an input is ragged and another is not, the other is used for every predecessor.
template <class F>
struct Pointwise {
  static constexpr std::size_t kInputs = F::kInputs;
  template <class Real>
  using Rows = std::array<const Real*, kInputs>;
  using Every = std::make_index_sequence<kInputs>;

  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    bool same = true;
    for (const ValueId input : op.inputs) same = same && row.width(input) == row.width(op.output);
    const Spread how = same ? Spread{} : spread_of(row, op);
    for (std::size_t e = 0; e < row.rows(op.output); ++e) {
      Rows<Real> in{};
      for (std::size_t i = 0; i < kInputs; ++i) in[i] = row.real(op.inputs[i], e);
      Real* out = row.real(op.output, e);
      if (same) {
        along<kAll>(row.math(), in, out, row.width(op.output), Every{});
      } else {
        spread(row.math(), how, row.shape(op.output), in, out);
      }
    }
  }

 private:
  // A bit for each input: whether it has an element for each of a run along the last axis, or one for all.
  static constexpr std::size_t kAll = (std::size_t{1} << kInputs) - 1;
  struct Spread {
    std::array<Strides, kInputs> strides{};
    std::size_t moving = kAll;
  };

  template <class Real>
  static Spread spread_of(const RowValues<Real>& row, const Operator& op) {
    const Shape& shape = row.shape(op.output);
    Spread how;
    for (std::size_t i = 0; i < kInputs; ++i) {
      how.strides[i] = spread_strides(row.shape(op.inputs[i]), shape);
      if (how.strides[i][outer_axes(shape)] == 0) how.moving &= ~(std::size_t{1} << i);
    }
    return how;
  }

  // Which inputs move is known to the compiler, so that it can take several elements at once.
  template <std::size_t Moving, class Real, std::size_t... I>
  static void along(const RealMath<Real>& math, const Rows<Real>& in, Real* out, std::size_t n,
                    std::index_sequence<I...>) {
    for (std::size_t k = 0; k < n; ++k) out[k] = F::of(math, in[I][(Moving >> I & 1) != 0 ? k : 0]...);
  }
  template <std::size_t Moving, class Real>
  static void along_those(std::size_t moving, const RealMath<Real>& math, const Rows<Real>& in, Real* out,
                          std::size_t n) {
    if (moving == Moving) return along<Moving>(math, in, out, n, Every{});
    if constexpr (Moving > 0) along_those<Moving - 1>(moving, math, in, out, n);
  }

  template <class Real>
  static void spread(const RealMath<Real>& math, const Spread& how, const Shape& shape, const Rows<Real>& in,
                     Real* out) {
    const std::size_t n = run_length(shape);
    for (Walk at(shape, outer_axes(shape)); !at.done(); at.next(), out += n) {
      Rows<Real> run{};
      for (std::size_t i = 0; i < kInputs; ++i) run[i] = in[i] + at.offset(how.strides[i]);
      along_those<kAll>(how.moving, math, run, out, n);
    }
  }
};

template <class F>
constexpr OpDef pointwise_op(std::string_view name, std::string_view says) {
  OpDef def = computed_op<Pointwise<F>>(
      name, F::kInputs, 0, [](Inference& at) { return at.elementwise(); }, says);
  def.pointwise = true;
  return def;
}

// The same for one of a single input that works on all elements at once, or has attributes:
// F::map(const RealMath<Real>&, const Operator&, const Real* x, Real* out, std::size_t n). `out` is not x.
template <class F>
struct Mapped {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    for (std::size_t e = 0; e < row.rows(op.output); ++e) {
      F::map(row.math(), op, row.real(op.inputs[0], e), row.real(op.output, e), row.width(op.output));
    }
  }
};

template <class F>
constexpr OpDef mapped_op(
    std::string_view name, std::string_view says,
    Status (*infer)(Inference&) = [](Inference& at) { return at.elementwise(); }) {
  OpDef def = computed_op<Mapped<F>>(name, 1, 0, infer, says);
  def.pointwise = true;
  return def;
}

// Infers a mapped operator that reads `reals` real attributes.
template <std::size_t Reals>
Status with_reals(Inference& at) {
  if (Status status = at.attributes(0, 0, Reals); !status) return status;
  return at.elementwise();
}

}  // namespace volvox
