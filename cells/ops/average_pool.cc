#include "cells/ops/pool.h"

namespace volvox {
namespace {

struct AveragePool {
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

extern const OpDef kAveragePoolOp;
constinit const OpDef kAveragePoolOp =
    pool_op<AveragePool>("average_pool",
                         "(x; a convolution) -> the mean of each window of each channel, in [channels, "
                         "out_height, out_width], without the padding");

}  // namespace volvox
