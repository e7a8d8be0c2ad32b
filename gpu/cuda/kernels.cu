#include "gpu/cuda/finish.cuh"
#include "gpu/cuda/kernels.h"
#include "gpu/cuda/launch.cuh"
#include "gpu/kernels/stage_cut.h"

namespace volvox::gpu {
namespace {

constexpr unsigned kResolveThreads = 512;
constexpr unsigned kPointwiseThreads = 256;
// Of a multiprocessor: as many as its shared memory is enough for. Left to itself ptxas spills to run more.
constexpr unsigned kPointwiseBlocks = 4;
constexpr unsigned kWarp = 32;
constexpr unsigned kArgmaxThreads = 1024;
constexpr std::uint64_t kMostBlocks = 8192;
// More would need an attribute of the kernel, and without it the launch fails.
static_assert(std::size_t{kRegisters} * kPointwiseThreads * sizeof(std::uint64_t) <= 48U << 10);

__global__ void __launch_bounds__(kResolveThreads) resolve_kernel(const ResolveCall call) {
  launch_next_kernel();  // it does what needs no rows
  const TaskHeader& task = task_of(call);
  const std::uint32_t me = threadIdx.x, all = blockDim.x;
  auto* state = at<QueueState>(call.queue.state);
  // What earlier tasks wrote is in memory, but as this one begins before the last of them has ended nobody
  // promises that this multiprocessor keeps no older lines of it. (The rows of a task right ahead are found:
  // its step runs.)
  if (call.chained != 0) {
    if (me == 0) wait_for_word(&state->resolved, call.turn - 1);
    __syncthreads();
  } else if (call.direct != 0) {
    __threadfence();
  }
  if (me == 0 && call.direct == 0) begin_task(call.queue);
  if (task.cohort != kListedTask) {
    for (std::uint32_t i = me; i < task.record_count; i += all) resolve_change(call, task, i);
  }
  __syncthreads();
  for (std::uint32_t row = me; row < call.padded_rows; row += all) resolve_row(call, task, row);
  __syncthreads();
  for (std::uint32_t i = me; i < task.emit_count; i += all) resolve_emit(call, task, i);
  bool late = false;
  for (std::uint32_t row = me; row < call.padded_rows; row += all)
    late = resolve_sources(call, task, row, true) || late;
  if (call.chained == 0) {
    wait_for_previous_kernel();
  } else if (late) {
    wait_for_step_before(call.queue, call.turn);
  }
  if (late) {
    for (std::uint32_t row = me; row < call.padded_rows; row += all) resolve_sources(call, task, row, false);
  }
  if (call.direct == 0) return;
  __syncthreads();
  if (me != 0) return;
  // The step will say when it began where the one before the one ahead did, whose time must be told by then.
  if (call.chained != 0) wait_for_word(&state->published, call.turn - 2);
  hand_over(&state->resolved, call.turn);
}

__global__ void __launch_bounds__(kPointwiseThreads, kPointwiseBlocks)
    pointwise_kernel(const PointwiseCall call) {
  extern __shared__ std::uint64_t registers[];  // register n of thread t: registers[n · threads + t]
  const Program program = at<const Program>(call.programs)[blockIdx.y];
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  while (run_element(call, program, i, registers + threadIdx.x, blockDim.x)) i += stride;
  if (call.last != 0) finish_with_last_block(call.queue);
}

__device__ Candidate best_of_warp(Candidate best) {
  for (unsigned apart = kWarp / 2; apart > 0; apart /= 2) {
    best =
        better_of(best, {__shfl_xor_sync(~0U, best.value, apart), __shfl_xor_sync(~0U, best.index, apart)});
  }
  return best;
}

__global__ void __launch_bounds__(kArgmaxThreads) argmax_kernel(const ArgmaxCall call) {
  static_assert(kArgmaxThreads == kWarp * kWarp);  // one warp takes what all warps leave
  __shared__ Candidate of_warp[kWarp];
  const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const Candidate best = best_of_warp(best_of_share(call, blockIdx.x, threadIdx.x, kArgmaxThreads));
  if (lane == 0) of_warp[warp] = best;
  __syncthreads();
  if (warp != 0) return;
  const Candidate last = best_of_warp(of_warp[lane]);
  if (lane == 0) store_best(call, blockIdx.x, last);
}

__global__ void finish_kernel(const FinishCall call) {
  finish_task(call.queue, ending_of(call.queue));
}

// Whether it was compiled for GPUs on which it waits for the kernel ahead by itself. Code for older ones,
// which a driver may compile for any, does not.
bool resolve_waits() {
  static const bool waits = [] {
    cudaFuncAttributes attributes{};
    return cudaFuncGetAttributes(&attributes, resolve_kernel) == cudaSuccess && attributes.ptxVersion >= 90;
  }();
  return waits;
}

}  // namespace

int launch_kernel(const ResolveCall& call, void* stream) {
  return launch(resolve_kernel, 1, kResolveThreads, 0, stream, call, call.direct != 0 && resolve_waits());
}

int launch_kernel(const PointwiseCall& call, void* stream) {
  const std::uint64_t rows = call.rows > call.edges ? call.rows : call.edges;
  const std::uint64_t blocks = (rows * call.widest + kPointwiseThreads - 1) / kPointwiseThreads;
  const std::uint64_t wanted = blocks < 1 ? 1 : blocks;
  const dim3 grid(static_cast<unsigned>(wanted < kMostBlocks ? wanted : kMostBlocks), call.program_count);
  const std::size_t shared = std::size_t{call.registers} * kPointwiseThreads * sizeof(std::uint64_t);
  return launch(pointwise_kernel, grid, kPointwiseThreads, shared, stream, call);
}

int launch_stage(const void* kernel, const PointwiseCall& call, void* stream) {
  return launch(kernel, dim3(call.blocks, call.program_count), kStageThreads, 0, stream, call);
}

int launch_kernel(const ArgmaxCall& call, void* stream) {
  return launch(argmax_kernel, call.rows, kArgmaxThreads, 0, stream, call);
}

int launch_kernel(const FinishCall& call, void* stream) {
  return launch(finish_kernel, 1, 1, 0, stream, call);
}

}  // namespace volvox::gpu
