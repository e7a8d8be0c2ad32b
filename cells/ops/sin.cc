#include "cells/ops/define.h"
#include "cells/ops/sine.h"

namespace volvox {
namespace {

struct Sin {
  static constexpr int kInputs = 1;
  template <class Real>
  static Real of(const RealMath<Real>&, Real x) {
    return sine_of(x, 0);
  }
};

}  // namespace

extern const OpDef kSinOp;
constinit const OpDef kSinOp = pointwise_op<Sin>("sin", "(x), of radians");

}  // namespace volvox
