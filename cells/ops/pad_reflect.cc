#include "cells/ops/pad.h"

namespace volvox {
namespace {

struct Reflection {
  static std::int64_t index(std::int64_t index, std::int64_t extent) {
    if (index < 0) index = -index;
    return index < extent ? index : 2 * (extent - 1) - index;
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
