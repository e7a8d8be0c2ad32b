#include "gpu/fused/hopper_tile.h"
#include "gpu/fused/lstm.h"
#include "gpu/program/plan_leaves.h"

// The kernel for LSTMs on GPUs of compute capability 9.0 (hopper_lstm.cuh).
namespace volvox::gpu {
namespace {

constexpr LstmLayout kHopperLayout = {hopper::kUnits, hopper::kDepth,    true,
                                      true,           hopper::weight_at, hopper::weight_elements};

Result<std::shared_ptr<const FusedStep>> plan_for_hopper(PlanLeaves& leaves) {
  const PlanOptions& options = leaves.options();
  if (options.capability != 9 || operand_type(options.precision) == ElementType::kF32) return nullptr;
  return plan_lstm(leaves, kHopperLayout);
}

}  // namespace

extern const FusedKernel kHopperLstmFused;
const FusedKernel kHopperLstmFused = {"hopper_lstm", plan_for_hopper};

}  // namespace volvox::gpu
