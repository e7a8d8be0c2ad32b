#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Sigmoid {
  template <class Real>
  static void map(const RealMath<Real>& math, const Operator&, const Real* x, Real* out, std::size_t n) {
    math.sigmoid(x, out, n);
  }
};

}  // namespace

constinit const OpDef kSigmoidOp = mapped_op<Sigmoid>("sigmoid", "(x) -> 1 / (1 + exp(−x))");

}  // namespace volvox
