#include "gpu/cuda/fused_lstm.cuh"
#include "gpu/cuda/kernels.h"
#include "gpu/cuda/launch.cuh"

namespace volvox::gpu {

int launch_kernel(const FusedCall& call, void* stream) {
  const dim3 grid((call.units + kFusedUnits - 1) / kFusedUnits, (call.rows + kFusedRows - 1) / kFusedRows);
  if (call.tf32 != 0) return launch(fused::kernel<fused::Tf32>, grid, fused::kThreads, 0, stream, call);
  if (call.type == ElementType::kBf16)
    return launch(fused::kernel<fused::Bf16>, grid, fused::kThreads, 0, stream, call);
  return launch(fused::kernel<fused::F16>, grid, fused::kThreads, 0, stream, call);
}

}  // namespace volvox::gpu
