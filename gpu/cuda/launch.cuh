#pragma once

#include <cuda_runtime.h>

namespace volvox::gpu {

// Launches a kernel whose only parameter is `call`. The answer is this launch's own cudaError_t, not what
// some earlier call of the thread left behind. `early`: on GPUs that can, it may begin while the kernel ahead
// of it in the stream still runs, and waits for that where it must.
template <class Call>
int launch(const void* kernel, dim3 grid, dim3 block, std::size_t shared_bytes, void* stream, Call call,
           bool early = false) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = static_cast<cudaStream_t>(stream);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &attribute;
  config.numAttrs = early ? 1 : 0;
  void* arguments[] = {&call};
  return cudaLaunchKernelExC(&config, kernel, arguments);
}
template <class Call>
int launch(void (*kernel)(Call), dim3 grid, dim3 block, std::size_t shared_bytes, void* stream, Call call,
           bool early = false) {
  return launch(reinterpret_cast<const void*>(kernel), grid, block, shared_bytes, stream, call, early);
}

// The kernel behind this one, if it was launched to begin early, may begin (PTX: griddepcontrol). Nothing on
// GPUs that cannot.
__device__ inline void launch_next_kernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
// Until the kernel ahead has ended, with all that it wrote, where this one began early.
__device__ inline void wait_for_previous_kernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace volvox::gpu
