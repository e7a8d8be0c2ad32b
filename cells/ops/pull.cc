#include <string>
#include <utility>

#include "cells/ops/define.h"

namespace volvox {
namespace {

Status infer(Inference& at) {
  if (Status status = at.number(at.cell().pulls, kMaxPulls, "input"); !status) return status;
  Value value = at.out();
  value.ragged = false;
  const std::string key = "input " + std::to_string(at.op().index);
  if (Status status = at.source(key, value.dtype, value.shape); !status) return status;
  return at.produce(std::move(value));
}

}  // namespace

constinit const OpDef kPullOp = {.name = "pull", .says = "() -> this node's row of an input", .infer = infer};

}  // namespace volvox
