#pragma once

#include "gpu/cuda/finish.cuh"
#include "gpu/kernels/stage.h"

// Kernel n of a source that is compiled at load (gpu/program/stage_source.h): its programs stand in the
// grid's second dimension, as those of the kernel that reads programs do.
#define VOLVOX_STAGE(n) VOLVOX_STAGE_AS(volvox_stage_##n, n)
#define VOLVOX_STAGE_AS(name, n)                                                                           \
  __device__ void stage_body_##n(const PointwiseCall& call, const StageThread& me, std::uint32_t program); \
  extern "C" __global__ void __launch_bounds__(kStageThreads) name(const PointwiseCall call) {             \
    stage_body_##n(call, {threadIdx.x, blockIdx.x, gridDim.x}, blockIdx.y);                                \
    if (call.last != 0) finish_with_last_block(call.queue);                                                \
  }                                                                                                        \
  __device__ inline void stage_body_##n(const PointwiseCall& call, const StageThread& me,                  \
                                        std::uint32_t program)
