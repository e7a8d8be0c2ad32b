#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Erf {
  template <class Real>
  static void map(const RealMath<Real>& math, const Operator&, const Real* x, Real* out, std::size_t n) {
    math.erf(x, out, n);
  }
};

}  // namespace

extern const OpDef kErfOp;
constinit const OpDef kErfOp = mapped_op<Erf>("erf", "(x), the error function");

}  // namespace volvox
