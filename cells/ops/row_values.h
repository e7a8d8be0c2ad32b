#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "cells/ir/cell.h"

namespace volvox {

// The second half to the first, until one is left. N is a power of two.
template <class Real, std::size_t N>
Real add_in_halves(std::array<Real, N> parts) {
  for (std::size_t half = N / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) parts[i] += parts[i + half];
  }
  return parts[0];
}

// The arithmetic that operators are written in: reals of one kind, and who computes with them. Additions,
// subtractions, products, quotients and square roots are those of the language, which IEEE defines.
template <class Real>
struct RealMath {
  // Element by element over n; `out` may be x.
  using Map = void (*)(const Real* x, Real* out, std::size_t n);

  Real (*fma)(Real a, Real b, Real c);
  // start + Σ w[k]·x[k]: one chain of multiply-adds over ascending k.
  Real (*chain)(Real start, const float* w, const Real* x, std::size_t n);
  Real (*dot)(Real start, const Real* a, const Real* b, std::size_t n);  // the same of two values
  // Of so many pairs: kDotParts chains, of each kDotParts-th element, which are then added in halves, the
  // second half to the first. So one does not wait for each of its sums.
  static constexpr std::size_t kDotParts = 16;
  void (*dots)(const Real* const* a, const Real* const* b, std::size_t count, std::size_t n, Real* out);
  Map exp, log, sigmoid, tanh, erf;
};

// The values of a cell for one row of a batch, for operators to compute with (OpDef::evaluate_f64,
// evaluate_f32). f32 values are Reals; a ragged value has a row for each predecessor. A view: whoever
// evaluates a cell has the memory, and says where it lies. One thread at a time; everything given must
// outlive it.
template <class Real>
class RowValues {
 public:
  // Pointers to a value's rows, of whatever type it has: one, or if it is ragged one for each predecessor.
  using Rows = const Real* const*;

  // `rows` is indexed by value, and is read when an operator is computed: what it reads and makes must be
  // there.
  RowValues(const Cell& cell, const RealMath<Real>& math, const Rows* rows, std::vector<Real>& scratch)
      : cell_(cell), math_(math), rows_(rows), scratch_(scratch) {}

  // Predecessors in the row's list, from here on.
  void set_edges(std::uint32_t edges) { edges_ = edges; }
  std::uint32_t edges() const { return edges_; }
  // Of the operator that is computed next: where its weights lie, and how many rows the first has.
  void set_weights(std::span<const float* const> weights, std::int64_t rows) {
    weights_ = weights;
    weight_rows_ = rows;
  }
  std::span<const float* const> weights() const { return weights_; }
  std::int64_t weight_rows() const { return weight_rows_; }
  const RealMath<Real>& math() const { return math_; }

  const Value& value(ValueId v) const { return cell_.values[v]; }
  const Shape& shape(ValueId v) const { return value(v).shape; }
  std::size_t width(ValueId v) const { return static_cast<std::size_t>(elements(value(v).shape)); }
  std::size_t rows(ValueId v) const { return value(v).ragged ? edges_ : 1; }
  // Of one row, on a device and in the wire.
  std::size_t bytes(ValueId v) const { return width(v) * size_bytes(value(v).dtype); }

  // Row `edge` of an f32 value; one that is not ragged has the same row for every predecessor.
  Real* real(ValueId v, std::size_t edge = 0) {
    return const_cast<Real*>(rows_[v][value(v).ragged ? edge : 0]);  // only its own operator writes it
  }
  // Row `edge` of a value of another type, as bytes, or as one of the numbers that it is.
  std::byte* integers(ValueId v, std::size_t edge = 0) { return reinterpret_cast<std::byte*>(real(v, edge)); }
  template <class T>
  T integer(ValueId v, std::size_t edge = 0, std::size_t k = 0) {
    T number;
    std::memcpy(&number, integers(v, edge) + k * sizeof(number), sizeof(number));
    return number;
  }
  template <class T>
  void set_integer(ValueId v, T number, std::size_t edge = 0, std::size_t k = 0) {
    std::memcpy(integers(v, edge) + k * sizeof(number), &number, sizeof(number));
  }
  // For whoever needs more room than the value's own; until the next operator.
  std::vector<Real>& scratch() { return scratch_; }

 private:
  const Cell& cell_;
  const RealMath<Real>& math_;
  const Rows* rows_;
  std::vector<Real>& scratch_;
  std::span<const float* const> weights_;
  std::int64_t weight_rows_ = 0;
  std::uint32_t edges_ = 0;
};

}  // namespace volvox
