#include <cmath>

#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Sqrt {
  static constexpr int kInputs = 1;
  template <class Real>
  static Real of(const RealMath<Real>&, Real x) {
    return std::sqrt(x);
  }
};

}  // namespace

extern const OpDef kSqrtOp;
constinit const OpDef kSqrtOp = pointwise_op<Sqrt>("sqrt", "(x); NaN where x is negative");

}  // namespace volvox
