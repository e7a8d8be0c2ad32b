#include "cells/ops/define.h"

namespace volvox {
namespace {

Status infer(Inference& at) {
  if (Status status = at.number(at.cell().pushes, kMaxPushes, "result"); !status) return status;
  if (Status status = at.want(0, at.in(0).dtype, false); !status) return status;
  return at.emit();
}

}  // namespace

constinit const OpDef kPushOp = {
    .name = "push", .says = "(x) emits a result", .inputs = 1, .infer = infer, .sink = true};

}  // namespace volvox
