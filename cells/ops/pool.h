#pragma once

#include <string>

#include "cells/ops/define.h"
#include "cells/ops/extents.h"

namespace volvox {

// An operator that makes one element of each window of each channel of x, which lie as a convolution's do,
// without the padding around x. Elements are taken row by row:
//   F::first(Real x); F::next(Real so_far, Real x); F::last(Real so_far, Real count).
template <class F>
struct Pool {
  template <class Real>
  static void row(RowValues<Real>& row, const Operator& op) {
    const Convolution& c = op.convolution;
    for (std::size_t e = 0; e < row.rows(op.output); ++e) {
      Real* out = row.real(op.output, e);
      for (std::int64_t channel = 0; channel < c.channels; ++channel) {
        const Real* x = row.real(op.inputs[0], e) + channel * c.height * c.width;
        for (std::int64_t position = 0; position < c.positions(); ++position) *out++ = window(c, x, position);
      }
    }
  }

 private:
  template <class Real>
  static Real window(const Convolution& c, const Real* x, std::int64_t position) {
    Real so_far{0};
    std::int64_t count = 0;
    c.for_inside(position,
                 [&](std::int64_t at) { so_far = count++ == 0 ? F::first(x[at]) : F::next(so_far, x[at]); });
    return F::last(so_far, static_cast<Real>(count));
  }
};

inline Status infer_pool(Inference& at) {
  const Convolution& c = at.op().convolution;
  if (Status status = at.want(0, DType::kF32, true); !status) return status;
  if (Status status = check_extents(at, c); !status) return status;
  for (const std::size_t axis : {0, 1}) {
    const std::int64_t kernel = axis == 0 ? c.kernel_height : c.kernel_width;
    if (c.padding[axis] >= kernel) return at.error("its padding is as large as its window");
    if (c.dilation[axis] != 1 && c.padding[axis] != 0) return at.error("cannot have gaps and a padding");
  }
  return at.produce({DType::kF32, {c.channels * c.positions()}, at.in(0).ragged});
}

template <class F>
constexpr OpDef pool_op(std::string_view name, std::string_view says) {
  return computed_op<Pool<F>>(name, 1, 0, infer_pool, says);
}

}  // namespace volvox
