#include "cells/ops/reduce.h"

namespace volvox {
namespace {

struct ReduceMean {
  template <class Real>
  static Real first(Real x) {
    return x;
  }
  template <class Real>
  static Real next(Real so_far, Real x) {
    return so_far + x;
  }
  template <class Real>
  static Real last(Real so_far, Real count) {
    return so_far / count;
  }
};

}  // namespace

extern const OpDef kReduceMeanOp;
constinit const OpDef kReduceMeanOp = reduce_op<ReduceMean>(
    "reduce_mean", "(x; axes) -> the mean along these axes, or all: they stay, with extent 1");

}  // namespace volvox
