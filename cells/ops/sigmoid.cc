#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Sigmoid {
  static constexpr int kInputs = 1;
  template <class Real>
  static Real of(const RealMath<Real>& math, Real x) {
    return math.sigmoid(x);
  }
};

}  // namespace

constinit const OpDef kSigmoidOp = pointwise_op<Sigmoid>("sigmoid");

}  // namespace volvox
