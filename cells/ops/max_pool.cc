#include "cells/ops/pool.h"

namespace volvox {
namespace {

struct MaxPool {
  template <class Real>
  static Real first(Real x) {
    return x;
  }
  template <class Real>
  static Real next(Real so_far, Real x) {
    return x > so_far || x != x ? x : so_far;
  }
  template <class Real>
  static Real last(Real so_far, Real) {
    return so_far;
  }
};

}  // namespace

extern const OpDef kMaxPoolOp;
constinit const OpDef kMaxPoolOp =
    pool_op<MaxPool>("max_pool",
                     "(x; a convolution) -> the largest of each window of each channel, in [channels, "
                     "out_height, out_width]; NaN if one is");

}  // namespace volvox
