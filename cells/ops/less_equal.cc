#include "cells/ops/define.h"

namespace volvox {
namespace {

struct LessEqual {
  static constexpr int kInputs = 2;
  template <class Real>
  static Real of(const RealMath<Real>&, Real a, Real b) {
    return a <= b ? Real{1} : Real{0};
  }
};

}  // namespace

extern const OpDef kLessEqualOp;
constinit const OpDef kLessEqualOp = pointwise_op<LessEqual>("less_equal", "(a, b) -> 1 where a ≤ b, else 0");

}  // namespace volvox
