#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Max {
  static constexpr int kInputs = 2;
  template <class Real>
  static Real of(const RealMath<Real>&, Real a, Real b) {
    return a > b || a != a ? a : b;
  }
};

}  // namespace

extern const OpDef kMaxOp;
constinit const OpDef kMaxOp = pointwise_op<Max>("max", "(a, b) -> the larger; NaN if one is");

}  // namespace volvox
