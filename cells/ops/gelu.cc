#include <numbers>

#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Gelu {
  template <class Real>
  static void map(const RealMath<Real>& math, const Operator&, const Real* x, Real* out, std::size_t n) {
    for (std::size_t k = 0; k < n; ++k) out[k] = x[k] * static_cast<Real>(std::numbers::sqrt2 / 2);
    math.erf(out, out, n);
    for (std::size_t k = 0; k < n; ++k) out[k] = Real{0.5} * x[k] * (Real{1} + out[k]);
  }
};

}  // namespace

extern const OpDef kGeluOp;
constinit const OpDef kGeluOp =
    mapped_op<Gelu>("gelu", "(x) -> x / 2 · (1 + erf(x / √2)): the exact form, not the one with tanh");

}  // namespace volvox
