#pragma once

#include "gpu/driver/driver.h"

namespace volvox::gpu {

// Give a kernel to a stream (a cudaStream_t). The answer is a cudaError_t.
int launch_kernel(const ResolveCall& call, void* stream);
int launch_kernel(const PointwiseCall& call, void* stream);
int launch_kernel(const ArgmaxCall& call, void* stream);
int launch_kernel(const FinishCall& call, void* stream);
// The same by a kernel that was compiled at load (a cudaKernel_t).
int launch_stage(const void* kernel, const PointwiseCall& call, void* stream);

}  // namespace volvox::gpu
