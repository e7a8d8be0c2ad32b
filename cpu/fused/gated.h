#pragma once

#include "cells/patterns/lstm.h"
#include "cpu/fused/fused_kernel.h"

namespace volvox::cpu {

// How a kernel whose step is LstmGates (cpu/kernel/lstm_gates.h) computes a cell of the form.
inline FusedPlan gated_plan(const LstmPattern& pattern) {
  FusedPlan plan;
  plan.product = pattern.product;
  plan.gates = pattern.c_in.size() + 3;
  for (const ValueId c : pattern.c_in) plan.inputs.push_back({c});
  plan.outputs = {pattern.h_scatter, pattern.c_scatter};
  for (const LstmPattern::Push& push : pattern.pushes)
    plan.pushes.push_back({push.index, push.cell_state ? 1U : 0U});
  return plan;
}

// What FusedKernel::match does for it.
template <std::size_t kForgetGates>
std::optional<FusedPlan> match_gated(const Cell& cell) {
  const auto found = match_lstm(cell, kForgetGates);
  if (!found) return std::nullopt;
  return gated_plan(*found);
}

}  // namespace volvox::cpu
