#include "cells/ops/pad.h"

namespace volvox {
namespace {

struct Constant {
  template <class Real>
  static Real value(const Operator& op, const Real* x, const Shape& shape, const Walk& at) {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const std::int64_t index = at[axis] - op.attributes.integers[axis];
      if (index < 0 || index >= shape[axis]) return static_cast<Real>(op.attributes.reals[0]);
      offset = offset * shape[axis] + index;
    }
    return x[offset];
  }
};

Status infer(Inference& at) {
  return infer_pad(at, 1, false, 0);
}

}  // namespace

extern const OpDef kPadOp;
constinit const OpDef kPadOp = computed_op<Pad<Constant>>(
    "pad", 1, 0, infer, "(x; elements before each axis, after each; value) -> x with this value around it");

}  // namespace volvox
