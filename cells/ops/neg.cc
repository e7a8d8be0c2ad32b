#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Neg {
  static constexpr int kInputs = 1;
  template <class Real>
  static Real of(const RealMath<Real>&, Real x) {
    return -x;
  }
};

}  // namespace

extern const OpDef kNegOp;
constinit const OpDef kNegOp = pointwise_op<Neg>("neg", "(x) -> −x");

}  // namespace volvox
