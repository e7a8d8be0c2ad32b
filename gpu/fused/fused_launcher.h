#pragma once

#include <span>

#include "gpu/fused/fused_kernel.h"

namespace volvox::gpu {

// The half of a fused kernel that nvcc compiles: kNameLauncher, in NAME.cu.
struct FusedLauncher {
  // Gives the kernel to a stream (a cudaStream_t). `step` is what this kernel's plan() made. The answer is a
  // cudaError_t.
  int (*launch)(const FusedStep& step, const FusedTask& task, void* stream) = nullptr;
};

// In the order of fused_kernels(). Only in builds with CUDA.
std::span<const FusedLauncher* const> fused_launchers();

}  // namespace volvox::gpu
