#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Add {
  static constexpr int kInputs = 2;
  template <class Real>
  static Real of(const RealMath<Real>&, Real a, Real b) {
    return a + b;
  }
};

}  // namespace

constinit const OpDef kAddOp = pointwise_op<Add>("add", "(a, b) -> a + b");

}  // namespace volvox
