#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Tanh {
  static constexpr int kInputs = 1;
  template <class Real>
  static Real of(const RealMath<Real>& math, Real x) {
    return math.tanh(x);
  }
};

}  // namespace

constinit const OpDef kTanhOp = pointwise_op<Tanh>("tanh");

}  // namespace volvox
