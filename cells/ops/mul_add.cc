#include "cells/ops/define.h"

namespace volvox {
namespace {

struct MulAdd {
  static constexpr int kInputs = 3;
  template <class Real>
  static Real of(const RealMath<Real>& math, Real a, Real b, Real c) {
    return math.fma(a, b, c);
  }
};

}  // namespace

constinit const OpDef kMulAddOp = pointwise_op<MulAdd>("mul_add", "(a, b, c) -> a · b + c, rounded once");

}  // namespace volvox
