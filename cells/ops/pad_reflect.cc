#include "cells/ops/pad.h"

namespace volvox {
namespace {

struct Reflection {
  template <class Real>
  static Real value(const Operator& op, const Real* x, const Shape& shape, const Walk& at) {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      std::int64_t index = at[axis] - op.attributes.integers[axis];
      if (index < 0) index = -index;
      if (index >= shape[axis]) index = 2 * (shape[axis] - 1) - index;
      offset = offset * shape[axis] + index;
    }
    return x[offset];
  }
};

Status infer(Inference& at) {
  return infer_pad(at, 0, true, 1);
}

}  // namespace

extern const OpDef kPadReflectOp;
constinit const OpDef kPadReflectOp =
    computed_op<Pad<Reflection>>("pad_reflect", 1, 0, infer,
                                 "(x; elements before each axis, after each) -> x with its mirror image "
                                 "around it, without the edge itself");

}  // namespace volvox
