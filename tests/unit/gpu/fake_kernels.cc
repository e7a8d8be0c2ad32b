#include "tests/unit/gpu/fake_driver.h"

// The launches of gpu/cuda/kernels.cu, one thread at a time.
namespace volvox::gpu {

void run_on_host(const ResolveCall& call) {
  const TaskHeader& task = task_of(call);
  if (call.direct == 0) begin_task(call.queue);
  if (task.cohort != kListedTask) {
    for (std::uint32_t i = 0; i < task.record_count; ++i) resolve_change(call, task, i);
  }
  for (std::uint32_t row = 0; row < call.padded_rows; ++row) resolve_row(call, task, row);
  for (std::uint32_t i = 0; i < task.emit_count; ++i) resolve_emit(call, task, i);
  for (const bool early : {true, false}) {
    for (std::uint32_t row = 0; row < call.padded_rows; ++row) resolve_sources(call, task, row, early);
  }
  if (call.direct != 0) hand_over(&at<QueueState>(call.queue.state)->resolved, call.turn);
}

void run_on_host(const PointwiseCall& call) {
  std::uint64_t registers[kRegisters];
  for (std::uint32_t p = 0; p < call.program_count; ++p) {
    const Program& program = at<const Program>(call.programs)[p];
    for (std::uint64_t i = 0; run_element(call, program, i, registers, 1); ++i) {
    }
  }
  if (call.last != 0) finish_task(call.queue, ending_of(call.queue));
}

// The last thread first: the order is nobody's promise.
void run_on_host(const PointwiseCall& call, FakeDriver::Stage stage) {
  for (std::uint32_t program = call.program_count; program-- > 0;) {
    for (std::uint32_t i = call.blocks * kStageThreads; i-- > 0;)
      stage(call, {i % kStageThreads, i / kStageThreads, call.blocks}, program);
  }
  if (call.last != 0) finish_task(call.queue, ending_of(call.queue));
}

// Some of the threads, the last one first: the order is nobody's promise.
void run_on_host(const ArgmaxCall& call) {
  constexpr std::uint32_t kThreads = 5;
  for (std::uint32_t row = 0; row < call.rows; ++row) {
    Candidate best = no_candidate();
    for (std::uint32_t thread = kThreads; thread-- > 0;) {
      best = better_of(best_of_share(call, row, thread, kThreads), best);
    }
    store_best(call, row, best);
  }
}

float load_operand(DeviceAddress address, ElementType type) {
  return float_of(load_bits(address, type));
}

void run_on_host(const FusedCall& call) {
  call.step->run_on_host(call.task);
}

}  // namespace volvox::gpu
