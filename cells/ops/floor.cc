#include <cmath>

#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Floor {
  static constexpr int kInputs = 1;
  template <class Real>
  static Real of(const RealMath<Real>&, Real x) {
    return std::floor(x);
  }
};

}  // namespace

extern const OpDef kFloorOp;
constinit const OpDef kFloorOp = pointwise_op<Floor>("floor", "(x) -> the largest whole number not above x");

}  // namespace volvox
