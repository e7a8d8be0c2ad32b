#include "cells/ops/reduce.h"

namespace volvox {
namespace {

struct ReduceMin {
  template <class Real>
  static Real first(Real x) {
    return x;
  }
  template <class Real>
  static Real next(Real so_far, Real x) {
    return x < so_far || x != x ? x : so_far;
  }
  template <class Real>
  static Real last(Real so_far, Real) {
    return so_far;
  }
};

}  // namespace

extern const OpDef kReduceMinOp;
constinit const OpDef kReduceMinOp = reduce_op<ReduceMin>(
    "reduce_min",
    "(x; axes) -> the smallest, NaN if one is, along these axes, or all: they stay, with extent 1");

}  // namespace volvox
