#include "cells/ops/ops.h"
#include "cells/patterns/matcher.h"
#include "cpu/fused/fused_kernel.h"

namespace volvox::cpu {
namespace {

// A product that is published as it is: the eager part of a split cell.
std::optional<FusedPlan> match(const Cell& cell) {
  Matcher matcher(cell);
  FusedPlan plan;
  plan.product = matcher.only_product();
  if (plan.product == nullptr) return std::nullopt;
  for (const Operator& op : cell.operators) {
    if (op.inputs.empty() || op.inputs[0] != plan.product->output) continue;
    if (op.is(kScatterOp) && plan.outputs.empty()) {
      plan.outputs = {&op};
    } else if (op.is(kPushOp)) {
      plan.pushes.push_back({op.index, 0});
    } else {
      continue;
    }
    matcher.use(op);
  }
  if (plan.outputs.empty() || !matcher.used_all()) return std::nullopt;
  return plan;
}

}  // namespace

extern const FusedKernel kProductFused;
const FusedKernel kProductFused = {"product", match};

}  // namespace volvox::cpu
