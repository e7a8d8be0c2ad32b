#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Sub {
  static constexpr int kInputs = 2;
  template <class Real>
  static Real of(const RealMath<Real>&, Real a, Real b) {
    return a - b;
  }
};

}  // namespace

constinit const OpDef kSubOp = pointwise_op<Sub>("sub", "(a, b) -> a − b");

}  // namespace volvox
