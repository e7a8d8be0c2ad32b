#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Min {
  static constexpr int kInputs = 2;
  template <class Real>
  static Real of(const RealMath<Real>&, Real a, Real b) {
    return a < b || a != a ? a : b;
  }
};

}  // namespace

extern const OpDef kMinOp;
constinit const OpDef kMinOp = pointwise_op<Min>("min", "(a, b) -> the smaller; NaN if one is");

}  // namespace volvox
