#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Exp {
  template <class Real>
  static void map(const RealMath<Real>& math, const Operator&, const Real* x, Real* out, std::size_t n) {
    math.exp(x, out, n);
  }
};

}  // namespace

extern const OpDef kExpOp;
constinit const OpDef kExpOp = mapped_op<Exp>("exp", "(x)");

}  // namespace volvox
