#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Mul {
  static constexpr int kInputs = 2;
  template <class Real>
  static Real of(const RealMath<Real>&, Real a, Real b) {
    return a * b;
  }
};

}  // namespace

constinit const OpDef kMulOp = pointwise_op<Mul>("mul", "(a, b) -> a · b");

}  // namespace volvox
