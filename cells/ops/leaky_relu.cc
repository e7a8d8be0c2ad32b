#include "cells/ops/define.h"

namespace volvox {
namespace {

struct LeakyRelu {
  template <class Real>
  static void map(const RealMath<Real>&, const Operator& op, const Real* x, Real* out, std::size_t n) {
    const auto slope = static_cast<Real>(op.attributes.reals[0]);
    for (std::size_t k = 0; k < n; ++k) out[k] = x[k] < Real{0} ? slope * x[k] : x[k];
  }
};

}  // namespace

extern const OpDef kLeakyReluOp;
constinit const OpDef kLeakyReluOp =
    mapped_op<LeakyRelu>("leaky_relu", "(x; slope) -> x, or slope · x where it is negative", with_reals<1>);

}  // namespace volvox
