#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Elu {
  template <class Real>
  static void map(const RealMath<Real>& math, const Operator& op, const Real* x, Real* out, std::size_t n) {
    const auto scale = static_cast<Real>(op.attributes.reals[0]);
    math.exp(x, out, n);
    for (std::size_t k = 0; k < n; ++k) out[k] = x[k] < Real{0} ? scale * (out[k] - Real{1}) : x[k];
  }
};

}  // namespace

extern const OpDef kEluOp;
constinit const OpDef kEluOp =
    mapped_op<Elu>("elu", "(x; scale) -> x, or scale · (exp(x) − 1) where it is negative", with_reals<1>);

}  // namespace volvox
