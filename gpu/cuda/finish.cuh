#pragma once

#include "gpu/kernels/resolve.h"

namespace volvox::gpu {

// The last block to come here ends the task, so that no further kernel is needed for it (BatchMaker §5's
// signalling kernel, folded into the last one that computes). All threads of all blocks call it.
__device__ inline void finish_with_last_block(const QueueView& queue) {
  __threadfence_system();  // results that this thread wrote to the host's memory come first
  __syncthreads();
  if (threadIdx.x != 0) return;
  auto* state = at<QueueState>(queue.state);
  const unsigned blocks = gridDim.x * gridDim.y;
  if (atomicAdd(&state->blocks_done, 1U) + 1 != blocks) return;
  state->blocks_done = 0;
  finish_task(queue);
}

}  // namespace volvox::gpu
