#include "cells/ops/pad.h"

namespace volvox {
namespace {

struct Constant {
  static std::int64_t index(std::int64_t index, std::int64_t extent) { return index < extent ? index : -1; }
};

Status infer(Inference& at) {
  return infer_pad(at, 1, false, 0);
}

}  // namespace

extern const OpDef kPadOp;
constinit const OpDef kPadOp = computed_op<Pad<Constant>>(
    "pad", 1, 0, infer, "(x; elements before each axis, after each; value) -> x with this value around it");

}  // namespace volvox
