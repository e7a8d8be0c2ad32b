#include "cells/patterns/lstm.h"

#include "cpu/fused/fused_kernel.h"

namespace volvox::cpu {
namespace {

std::optional<FusedPlan> match(const Cell& cell) {
  const auto found = match_lstm(cell);
  if (!found) return std::nullopt;
  FusedPlan plan;
  plan.product = found->product;
  plan.order = ColumnOrder::kGates;
  plan.inputs = {found->c_in};
  plan.outputs = {found->h_scatter, found->c_scatter};
  for (const LstmPattern::Push& push : found->pushes)
    plan.pushes.push_back({push.index, push.cell_state ? 1U : 0U});
  return plan;
}

}  // namespace

extern const FusedKernel kLstmFused;
const FusedKernel kLstmFused = {"lstm", match};

}  // namespace volvox::cpu
