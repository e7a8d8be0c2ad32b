#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cells/ir/cell_program.h"
#include "cells/ops/ops.h"
#include "cells/ops/row_values.h"

namespace volvox {

// The arithmetic of the standard library. Any class with these four functions will do for CellEvaluator.
template <class Real>
struct StdMath {
  static Real fma(Real a, Real b, Real c) { return std::fma(a, b, c); }
  static Real sigmoid(Real x) { return Real{1} / (Real{1} + std::exp(-x)); }
  static Real tanh(Real x) { return std::tanh(x); }
  // start + Σ w[k]·x[k]: one chain of fused multiply-adds over ascending k.
  static Real chain(Real start, const float* w, const Real* x, std::size_t n) {
    for (std::size_t k = 0; k < n; ++k) start = std::fma(static_cast<Real>(w[k]), x[k], start);
    return start;
  }
};

template <class Real, class Math>
inline constexpr RealMath<Real> kMathOf{&Math::fma, &Math::sigmoid, &Math::tanh, &Math::chain};

// A cell nobody has written a kernel for must run too, and every kernel needs something to be compared with.
// Runs any cell for one row, operator by operator. Owns the intermediate values, so one thread at a time may
// use it; allocates only where a row has more predecessors than any before it. The program must outlive it.
//
// Ids outside an embedding's table give a row of zeros.
template <class Real, class Math = StdMath<Real>>
class CellEvaluator {
 public:
  explicit CellEvaluator(const CellProgram& program)
      : program_(program), values_(program.cell(), kMathOf<Real, Math>) {}

  void run(const CellRow& row) {
    values_.set_edges(row.edges);
    const auto& operators = program_.cell().operators;
    for (std::size_t i = 0; i < operators.size(); ++i) {
      const Operator& op = operators[i];
      if (op.output != kNoValue) values_.prepare(op.output);
      step(op, program_.steps()[i], row);
    }
  }

 private:
  void step(const Operator& op, const CellProgram::Step& step, const CellRow& row) {
    if (op.def->evaluate_f64 != nullptr) {
      values_.set_weights(step.weights, step.rows);
      if constexpr (std::is_same_v<Real, double>) {
        op.def->evaluate_f64(values_, op);
      } else {
        op.def->evaluate_f32(values_, op);
      }
    } else if (op.is(kGatherOp)) {
      read(op.output, 0, row.gathers[step.number]);
    } else if (op.is(kGatherAllOp)) {
      for (std::uint32_t e = 0; e < row.edges; ++e)
        read(op.output, e, row.ragged[step.number * row.edges + e]);
    } else if (op.is(kPullOp)) {
      pull(op.output, row.pulls[op.index]);
    } else if (op.is(kScatterOp)) {
      write(op.inputs[0], row.scatters[step.number]);
    } else if (row.pushes[op.index] != nullptr) {
      write(op.inputs[0], row.pushes[op.index]);
    }
  }

  bool is_real(ValueId v) const { return values_.value(v).dtype == DType::kF32; }

  void read(ValueId v, std::size_t edge, const void* from) {
    if (is_real(v)) {
      std::memcpy(values_.real(v, edge), from, values_.width(v) * sizeof(Real));
    } else {
      std::memcpy(values_.integers(v, edge), from, values_.bytes(v));
    }
  }

  void write(ValueId v, void* to) {
    if (is_real(v)) {
      std::memcpy(to, values_.real(v), values_.width(v) * sizeof(Real));
    } else {
      std::memcpy(to, values_.integers(v), values_.bytes(v));
    }
  }

  void pull(ValueId v, const void* from) {
    if (!is_real(v)) return read(v, 0, from);
    const auto* input = static_cast<const float*>(from);
    std::copy(input, input + values_.width(v), values_.real(v));
  }

  const CellProgram& program_;
  RowValues<Real> values_;
};

}  // namespace volvox
