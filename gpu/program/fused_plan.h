#pragma once

#include <optional>

#include "gpu/kernels/fused.h"
#include "gpu/program/cell_plan.h"

namespace volvox::gpu {

// The fused kernel's call for a cell that it can compute; nothing for any other. Computes: an LSTM (or the
// core of a split one) whose operands lie in planes, inputs or tables, all float32, with widths and hidden
// size a multiple of 32, on tensor cores (not in float32 precision).
Result<std::optional<FusedCall>> plan_fused(const Cell& cell, const Weights& weights,
                                            const PlanOptions& options, const PlanResources& resources,
                                            CellPlan& plan);

// The weights of an LSTM as the fused kernel reads them: [unit block][k][kFusedColumns], gates of a block's
// units side by side, zero where there is no unit.
std::vector<std::byte> pack_fused(std::span<const Tensor* const> terms, std::uint32_t units,
                                  ElementType type);

}  // namespace volvox::gpu
