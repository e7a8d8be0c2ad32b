#include "cells/patterns/gru.h"

#include "cpu/fused/fused_kernel.h"

namespace volvox::cpu {
namespace {

std::optional<FusedPlan> match(const Cell& cell) {
  const auto found = match_gru(cell);
  if (!found) return std::nullopt;
  FusedPlan plan;
  plan.product = found->product;
  plan.gates = 3;
  for (const GruPattern::Part& part : found->x) plan.inputs.push_back({part.value, part.begin});
  plan.inputs.push_back({found->h_in});
  plan.outputs = {found->h_scatter};
  for (const std::uint32_t push : found->pushes) plan.pushes.push_back({push, 0});
  return plan;
}

}  // namespace

extern const FusedKernel kGruFused;
const FusedKernel kGruFused = {"gru", match};

}  // namespace volvox::cpu
