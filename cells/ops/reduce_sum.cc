#include "cells/ops/reduce.h"

namespace volvox {
namespace {

struct ReduceSum {
  template <class Real>
  static Real first(Real x) {
    return x;
  }
  template <class Real>
  static Real next(Real so_far, Real x) {
    return so_far + x;
  }
  template <class Real>
  static Real last(Real so_far, Real) {
    return so_far;
  }
};

}  // namespace

extern const OpDef kReduceSumOp;
constinit const OpDef kReduceSumOp = reduce_op<ReduceSum>(
    "reduce_sum", "(x; axes) -> the sum along these axes, or all: they stay, with extent 1");

}  // namespace volvox
