#pragma once

#include <cuda_runtime.h>

namespace volvox::gpu {

// Launches a kernel whose only parameter is `call`. The answer is this launch's own cudaError_t, not what
// some earlier call of the thread left behind.
template <class Call>
int launch(void (*kernel)(Call), dim3 grid, dim3 block, std::size_t shared_bytes, void* stream, Call call) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = static_cast<cudaStream_t>(stream);
  void* arguments[] = {&call};
  return cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel), arguments);
}

}  // namespace volvox::gpu
