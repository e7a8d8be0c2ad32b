#include <cmath>

#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Abs {
  static constexpr int kInputs = 1;
  template <class Real>
  static Real of(const RealMath<Real>&, Real x) {
    return std::abs(x);
  }
};

}  // namespace

extern const OpDef kAbsOp;
constinit const OpDef kAbsOp = pointwise_op<Abs>("abs", "(x)");

}  // namespace volvox
