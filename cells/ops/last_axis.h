#pragma once

#include <array>
#include <cstddef>

#include "cells/ops/define.h"

namespace volvox {

// The extent of a value's last axis, which `needs_last_axis` has seen to be there.
template <class Real>
std::size_t last_extent(const RowValues<Real>& row, ValueId v) {
  return static_cast<std::size_t>(row.shape(v).back());
}

inline Status needs_last_axis(const Inference& at, std::size_t i) {
  if (Status status = at.want(i, DType::kF32, true); !status) return status;
  return at.in(i).shape.empty() ? at.error("input " + std::to_string(i) + " is a scalar, needs an axis")
                                : Status{};
}

// An operator that makes of each stretch of its input along the last axis one of the same length:
// F::stretch(RowValues<Real>&, const Operator&, const Real* x, Real* out, std::size_t n).
template <class F>
struct AlongLastAxis {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const std::size_t n = last_extent(row, op.inputs[0]), width = row.width(op.output);
    for (std::size_t e = 0; e < row.rows(op.output); ++e) {
      const Real* x = row.real(op.inputs[0], e);
      Real* out = row.real(op.output, e);
      for (std::size_t at = 0; at < width; at += n) F::stretch(row, op, x + at, out + at, n);
    }
  }
};

// The largest of n > 0 elements, without the NaNs but for the first element.
template <class Real>
Real largest_of(const Real* x, std::size_t n) {
  Real largest = x[0];
  for (std::size_t k = 1; k < n; ++k) largest = x[k] > largest ? x[k] : largest;
  return largest;
}

// Σ term(k) over k < n: sixteen sums, of every sixteenth term each, added in halves as RealMath::dots are.
template <class Real, class Term>
Real sum_in_parts(std::size_t n, Term term) {
  constexpr std::size_t kParts = RealMath<Real>::kDotParts;
  std::array<Real, kParts> parts{};
  std::size_t k = 0;
  for (; k + kParts <= n; k += kParts) {
    for (std::size_t i = 0; i < kParts; ++i) parts[i] += term(k + i);
  }
  for (std::size_t i = 0; k < n; ++i, ++k) parts[i] += term(k);
  return add_in_halves(parts);
}
template <class Real>
Real sum_of(const Real* x, std::size_t n) {
  return sum_in_parts<Real>(n, [x](std::size_t k) { return x[k]; });
}

}  // namespace volvox
