#include "cells/ops/define.h"

namespace volvox {
namespace {

// A NaN stays one.
struct Relu {
  static constexpr int kInputs = 1;
  template <class Real>
  static Real of(const RealMath<Real>&, Real x) {
    return x < Real{0} ? Real{0} : x;
  }
};

}  // namespace

extern const OpDef kReluOp;
constinit const OpDef kReluOp = pointwise_op<Relu>("relu", "(x) -> x, or 0 where it is less");

}  // namespace volvox
