#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Div {
  static constexpr int kInputs = 2;
  template <class Real>
  static Real of(const RealMath<Real>&, Real a, Real b) {
    return a / b;
  }
};

}  // namespace

extern const OpDef kDivOp;
constinit const OpDef kDivOp = pointwise_op<Div>("div", "(a, b) -> a / b");

}  // namespace volvox
