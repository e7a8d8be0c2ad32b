#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "cells/ir/cell_program.h"
#include "cells/ops/ops.h"
#include "cells/ops/row_values.h"

namespace volvox {

// The arithmetic of the standard library. Any class with these functions will do for CellEvaluator.
template <class Real>
struct StdMath {
  static Real fma(Real a, Real b, Real c) { return std::fma(a, b, c); }
  static Real exp(Real x) { return std::exp(x); }
  static Real log(Real x) { return std::log(x); }
  static Real sigmoid(Real x) { return Real{1} / (Real{1} + std::exp(-x)); }
  static Real tanh(Real x) { return std::tanh(x); }
  static Real erf(Real x) { return std::erf(x); }
  // start + Σ w[k]·x[k]: one chain of fused multiply-adds over ascending k.
  template <class Weight>
  static Real chain(Real start, const Weight* w, const Real* x, std::size_t n) {
    for (std::size_t k = 0; k < n; ++k) start = std::fma(static_cast<Real>(w[k]), x[k], start);
    return start;
  }
};

// f for each element.
template <class Real, Real (*f)(Real)>
void map_elements(const Real* x, Real* out, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) out[k] = f(x[k]);
}

// RealMath::dots. Chains are as long as each other: zeros stand behind the last element.
template <class Real, Real (*fma)(Real, Real, Real)>
void dots_in_parts(const Real* const* a, const Real* const* b, std::size_t count, std::size_t n, Real* out) {
  constexpr std::size_t kParts = RealMath<Real>::kDotParts;
  for (std::size_t i = 0; i < count; ++i) {
    std::array<Real, kParts> parts{};
    for (std::size_t k = 0; k < (n + kParts - 1) / kParts * kParts; ++k) {
      Real& part = parts[k % kParts];
      part = k < n ? fma(a[i][k], b[i][k], part) : fma(Real{0}, Real{0}, part);
    }
    out[i] = add_in_halves(parts);
  }
}

template <class Real, class Math>
inline constexpr RealMath<Real> kMathOf{&Math::fma,
                                        &Math::template chain<float>,
                                        &Math::template chain<Real>,
                                        &dots_in_parts<Real, &Math::fma>,
                                        &map_elements<Real, &Math::exp>,
                                        &map_elements<Real, &Math::log>,
                                        &map_elements<Real, &Math::sigmoid>,
                                        &map_elements<Real, &Math::tanh>,
                                        &map_elements<Real, &Math::erf>};

// A cell nobody has written a kernel for must run too, and every kernel needs something to be compared with.
// Runs any cell for one row, operator by operator. Owns the intermediate values, so one thread at a time may
// use it; allocates only where a row has more predecessors than any before it. The program must outlive it.
//
// Ids outside an embedding's table give a row of zeros.
template <class Real, class Math = StdMath<Real>>
class CellEvaluator {
 public:
  explicit CellEvaluator(const CellProgram& program)
      : program_(program),
        memory_(program.cell().values.size()),
        rows_(memory_.size()),
        places_(memory_.size()) {}

  void run(const CellRow& row) {
    RowValues<Real> values(program_.cell(), kMathOf<Real, Math>, places_.data(), scratch_);
    values.set_edges(row.edges);
    const auto& operators = program_.cell().operators;
    for (std::size_t i = 0; i < operators.size(); ++i) {
      const Operator& op = operators[i];
      if (op.output != kNoValue) prepare(values, op.output);
      step(values, op, program_.steps()[i], row);
    }
  }

 private:
  using Values = RowValues<Real>;

  // Room for the value's rows; before the operator that makes it.
  void prepare(Values& values, ValueId v) {
    const std::size_t rows = values.rows(v), bytes = row_bytes(values, v);
    memory_[v].resize(rows * bytes);
    rows_[v].resize(rows);
    for (std::size_t e = 0; e < rows; ++e) {
      rows_[v][e] = reinterpret_cast<const Real*>(memory_[v].data() + e * bytes);
    }
    places_[v] = rows_[v].data();
  }

  void step(Values& values, const Operator& op, const CellProgram::Step& step, const CellRow& row) {
    if (op.def->evaluate_f64 != nullptr) {
      values.set_weights(step.weights, step.rows);
      if constexpr (std::is_same_v<Real, double>) {
        op.def->evaluate_f64(values, op);
      } else {
        op.def->evaluate_f32(values, op);
      }
    } else if (op.is(kGatherOp)) {
      read(values, op.output, 0, row.gathers[step.number]);
    } else if (op.is(kGatherAllOp)) {
      for (std::uint32_t e = 0; e < row.edges; ++e)
        read(values, op.output, e, row.ragged[step.number * row.edges + e]);
    } else if (op.is(kPullOp)) {
      pull(values, op.output, row.pulls[op.index]);
    } else if (op.is(kScatterOp)) {
      write(values, op.inputs[0], row.scatters[step.number]);
    } else if (row.pushes[op.index] != nullptr) {
      write(values, op.inputs[0], row.pushes[op.index]);
    }
  }

  static bool is_real(const Values& values, ValueId v) { return values.value(v).dtype == DType::kF32; }
  static std::size_t row_bytes(const Values& values, ValueId v) {
    return is_real(values, v) ? values.width(v) * sizeof(Real) : values.bytes(v);
  }

  void read(Values& values, ValueId v, std::size_t edge, const void* from) {
    std::memcpy(values.integers(v, edge), from, row_bytes(values, v));
  }
  void write(Values& values, ValueId v, void* to) {
    std::memcpy(to, values.integers(v), row_bytes(values, v));
  }
  void pull(Values& values, ValueId v, const void* from) {
    if (!is_real(values, v)) return read(values, v, 0, from);
    const auto* input = static_cast<const float*>(from);
    std::copy(input, input + values.width(v), values.real(v));
  }

  const CellProgram& program_;
  std::vector<std::vector<std::byte>> memory_;  // by value, its rows one after another
  std::vector<std::vector<const Real*>> rows_;
  std::vector<typename Values::Rows> places_;
  std::vector<Real> scratch_;
};

}  // namespace volvox
