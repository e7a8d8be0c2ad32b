#include "cells/ops/define.h"

namespace volvox {
namespace {

struct Clamp {
  template <class Real>
  static void map(const RealMath<Real>&, const Operator& op, const Real* x, Real* out, std::size_t n) {
    const auto least = static_cast<Real>(op.attributes.reals[0]),
               most = static_cast<Real>(op.attributes.reals[1]);
    for (std::size_t k = 0; k < n; ++k) out[k] = x[k] < least ? least : x[k] > most ? most : x[k];
  }
};

}  // namespace

extern const OpDef kClampOp;
constinit const OpDef kClampOp =
    mapped_op<Clamp>("clamp", "(x; least, most) -> x within these bounds; a NaN stays one", with_reals<2>);

}  // namespace volvox
