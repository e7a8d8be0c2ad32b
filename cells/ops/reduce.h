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
    for (std::size_t e = 0; e < row.rows(op.output); ++e) {
      const Real* x = row.real(op.inputs[0], e);
      Real* out = row.real(op.output, e);
      for (Walk at(shape); !at.done(); at.next(), ++x) {
        Real& so_far = out[at.offset(strides)];
        so_far = is_first(at, shape, row.shape(op.output)) ? F::first(*x) : F::next(so_far, *x);
      }
      for (std::size_t k = 0; k < results; ++k) out[k] = F::last(out[k], count);
    }
  }

 private:
  // Of those that become one.
  static bool is_first(const Walk& at, const Shape& from, const Shape& to) {
    for (std::size_t axis = 0; axis < from.size(); ++axis) {
      if (at[axis] != 0 && to[axis] == 1) return false;
    }
    return true;
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
