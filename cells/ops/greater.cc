#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Greater {
  static constexpr int kInputs = 2;
  template <class Real>
  static Real of(const RealMath<Real>&, Real a, Real b) {
    return a > b ? Real{1} : Real{0};
  }
};

}  // namespace

extern const OpDef kGreaterOp;
constinit const OpDef kGreaterOp = pointwise_op<Greater>("greater", "(a, b) -> 1 where a > b, else 0");

}  // namespace volvox
