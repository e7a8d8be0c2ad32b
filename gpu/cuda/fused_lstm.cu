#include "gpu/cuda/fused_lstm.cuh"
#include "gpu/cuda/kernels.h"

namespace volvox::gpu {

int launch_kernel(const FusedCall& call, void* stream) {
  const dim3 grid((call.units + kFusedUnits - 1) / kFusedUnits, (call.rows + kFusedRows - 1) / kFusedRows);
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  if (call.tf32 != 0) {
    fused::kernel<fused::Tf32><<<grid, fused::kThreads, 0, cuda_stream>>>(call);
  } else if (call.type == ElementType::kBf16) {
    fused::kernel<fused::Bf16><<<grid, fused::kThreads, 0, cuda_stream>>>(call);
  } else {
    fused::kernel<fused::F16><<<grid, fused::kThreads, 0, cuda_stream>>>(call);
  }
  return cudaGetLastError();
}

}  // namespace volvox::gpu
