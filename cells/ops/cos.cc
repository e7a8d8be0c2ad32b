#include "cells/ops/define.h"
#include "cells/ops/sine.h"

namespace volvox {
namespace {

struct Cos {
  static constexpr int kInputs = 1;
  template <class Real>
  static Real of(const RealMath<Real>&, Real x) {
    return sine_of(x, 1);
  }
};

}  // namespace

extern const OpDef kCosOp;
constinit const OpDef kCosOp = pointwise_op<Cos>("cos", "(x), of radians");

}  // namespace volvox
