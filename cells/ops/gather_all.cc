#include "cells/ops/define.h"

namespace volvox {
namespace {

Status infer(Inference& at) {
  at.cell().gathers_all = true;
  return at.read_state("", true);
}

}  // namespace

constinit const OpDef kGatherAllOp = {
    .name = "gather_all", .says = "() -> ragged, a state of each predecessor in the list", .infer = infer};

}  // namespace volvox
