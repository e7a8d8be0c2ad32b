#include "cells/ops/define.h"

namespace volvox {
namespace {

Status infer(Inference& at) {
  if (Status status = at.want(0, at.in(0).dtype, false); !status) return status;
  return at.publish(at.in(0).dtype, at.in(0).shape);
}

}  // namespace

constinit const OpDef kScatterOp = {.name = "scatter",
                                    .says = "(x) publishes a state of this node",
                                    .inputs = 1,
                                    .infer = infer,
                                    .sink = true};

}  // namespace volvox
