#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Tanh {
  template <class Real>
  static void map(const RealMath<Real>& math, const Operator&, const Real* x, Real* out, std::size_t n) {
    math.tanh(x, out, n);
  }
};

}  // namespace

constinit const OpDef kTanhOp = mapped_op<Tanh>("tanh", "(x)");

}  // namespace volvox
