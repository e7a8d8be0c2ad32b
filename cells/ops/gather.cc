#include <string>

#include "cells/ops/define.h"

namespace volvox {
namespace {

Status infer(Inference& at) {
  if (Status status = at.number(at.cell().gathers, kMaxGathers, "predecessor"); !status) return status;
  return at.read_state(at.op().index == 0 ? "" : " of predecessor " + std::to_string(at.op().index), false);
}

}  // namespace

constinit const OpDef kGatherOp = {
    .name = "gather",
    .says = "() -> a state of a predecessor; its initial value if there is none",
    .infer = infer};

}  // namespace volvox
