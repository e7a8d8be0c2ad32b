#pragma once

#include "gpu/kernels/resolve.h"

namespace volvox::gpu {

// Whether this thread ends the task, so that no further kernel is needed for it (BatchMaker §5's signalling
// kernel, folded into the last one that computes): the first of the last block to come here. All threads of
// all blocks call it. A block's barrier puts its threads' stores before the fence of its first thread, that
// thread's count hands them to the last block, and the one fence for the whole system that finish_task()
// makes shows all of them to the host before the word that says so.
__device__ inline bool ends_task(const QueueView& queue) {
  __syncthreads();
  if (threadIdx.x != 0) return false;
  auto* state = at<QueueState>(queue.state);
  const unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
  __threadfence();
  if (atomicAdd(&state->blocks_done, 1U) + 1 != blocks) return false;
  state->blocks_done = 0;
  return true;
}

// The same of a direct task, whose blocks hand over what they wrote to the step behind it one by one.
__device__ inline bool ends_direct_task(const QueueView& queue, std::uint64_t turn) {
  __syncthreads();
  if (threadIdx.x != 0) return false;
  const bool first = blockIdx.x == 0 && blockIdx.y == 0 && blockIdx.z == 0;
  const std::uint64_t share = share_of(first, gridDim.x * gridDim.y * gridDim.z);
  __threadfence();
  return add_to(&at<QueueState>(queue.state)->written, share) == turn * kWhole;
}

// For kernels that did not ask before.
__device__ inline void finish_with_last_block(const QueueView& queue) {
  if (ends_task(queue)) finish_task(queue, ending_of(queue));
}

}  // namespace volvox::gpu
