#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Log {
  template <class Real>
  static void map(const RealMath<Real>& math, const Operator&, const Real* x, Real* out, std::size_t n) {
    math.log(x, out, n);
  }
};

}  // namespace

extern const OpDef kLogOp;
constinit const OpDef kLogOp = mapped_op<Log>("log", "(x); −∞ at 0, NaN below");

}  // namespace volvox
