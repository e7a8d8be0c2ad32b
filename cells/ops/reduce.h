#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "cells/ops/define.h"

namespace volvox {

// An operator that makes one element of all along some axes, which stay as axes of extent 1. Elements are
// taken in ascending order, row by row, into one accumulator each:
//   F::first(Real x), the accumulator after the first element; F::next(Real so_far, Real x);
//   F::last(Real so_far, Real count).
template <class F>
struct Reduce {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const Shape& shape = row.shape(op.inputs[0]);
    const Strides strides = spread_strides(row.shape(op.output), shape);
    const std::size_t results = row.width(op.output);
    const auto count = static_cast<Real>(row.width(op.inputs[0]) / results);
    const std::size_t axes = outer_axes(shape), n = run_length(shape);
    const bool one = strides[axes] == 0;  // a run becomes one element, or is part of as many as it has
    for (std::size_t e = 0; e < row.rows(op.output); ++e) {
      const Real* x = row.real(op.inputs[0], e);
      Real* out = row.real(op.output, e);
      for (Walk at(shape, axes); !at.done(); at.next(), x += n) {
        Real* to = out + at.offset(strides);
        const bool first = is_first(at, axes, row.shape(op.output));
        one ? into_one(x, n, first, *to) : into_each(x, n, first, to);
      }
      for (std::size_t k = 0; k < results; ++k) out[k] = F::last(out[k], count);
    }
  }

 private:
  // Whether the run has the first elements of those that it becomes part of.
  static bool is_first(const Walk& at, std::size_t axes, const Shape& to) {
    for (std::size_t axis = 0; axis < axes; ++axis) {
      if (at[axis] != 0 && to[axis] == 1) return false;
    }
    return true;
  }
  template <class Real>
  static void into_one(const Real* x, std::size_t n, bool first, Real& to) {
    Real so_far = first ? F::first(x[0]) : F::next(to, x[0]);
    for (std::size_t k = 1; k < n; ++k) so_far = F::next(so_far, x[k]);
    to = so_far;
  }
  template <class Real>
  static void into_each(const Real* x, std::size_t n, bool first, Real* to) {
    for (std::size_t k = 0; k < n; ++k) to[k] = first ? F::first(x[k]) : F::next(to[k], x[k]);
  }
};

inline Status infer_reduce(Inference& at) {
  if (Status status = at.want(0, DType::kF32, true); !status) return status;
  if (Status status = at.attributes(0, at.in(0).shape.size(), 0); !status) return status;
  Shape shape = at.in(0).shape;
  const std::size_t named = at.op().attributes.integers.size();
  if (named == 0) std::fill(shape.begin(), shape.end(), 1);
  for (std::size_t i = 0; i < named; ++i) {
    std::size_t axis = 0;
    if (Status status = at.axis(i, axis); !status) return status;
    shape[axis] = 1;
  }
  return at.produce({DType::kF32, std::move(shape), at.in(0).ragged});
}

template <class F>
constexpr OpDef reduce_op(std::string_view name, std::string_view says) {
  return computed_op<Reduce<F>>(name, 1, 0, infer_reduce, says);
}

}  // namespace volvox
