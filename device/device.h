#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "cells/ir/cell.h"
#include "cells/ir/fold.h"
#include "cells/ir/weights.h"
#include "device/task.h"

namespace volvox {

// How to compile one cell type.
struct CompileOptions {
  PoolId out_pool = 0;                             // where it scatters
  std::array<PoolId, kMaxGathers> gather_pools{};  // where each gather reads
  PoolId ragged_pool = 0;                          // where gather_all reads
  std::uint32_t max_batch = 64;                    // largest Task::padded_rows
  std::uint32_t max_edges = 1U << 16;              // ragged predecessors of all rows of a task, at most
};

// What the scheduler must know of a compiled cell.
struct CompiledCell {
  std::vector<std::uint32_t> sizes;  // supported batch sizes, ascending; empty: every size up to max_batch
  // Measured microseconds of a task of `rows` rows, ascending in rows, at least one entry; between two
  // entries interpolate.
  struct Cost {
    std::uint32_t rows;
    double us;
  };
  std::vector<Cost> costs;
  double flops_per_row = 0;  // useful: 2·in·out summed over the products
  std::string kernel;        // which kernel was chosen: "lstm avx512", "generic"
};

// A request's input bytes to be made readable by a device. `owner` keeps them alive until release().
struct InputBlock {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

// Memory that results are written to. Owned by whoever holds it; must outlive every task that may write it.
struct ResultBlock {
  std::shared_ptr<std::byte[]> host;  // readable once the writing task is done
  DeviceAddress address = 0;
  std::size_t size_bytes = 0;
};

// Staged inputs: addresses in the order of the blocks. Destroying it releases the pages, which must not
// happen before every task that reads them is done.
class InputPages {
 public:
  virtual ~InputPages() = default;
  virtual std::span<const DeviceAddress> addresses() const = 0;
  virtual bool landed() const = 0;  // never blocks
};

struct Progress {
  TaskSeq done = 0;                 // every task up to this one is done
  TaskSeq first_failed = 0;         // 0: none; later tasks of the queue fail with it
  std::string error;                // what failed, when first_failed != 0
  std::uint64_t kernel_ns = 0;      // wall time spent inside kernels so far
  std::uint64_t cpu_kernel_ns = 0;  // CPU time of all threads inside kernels so far (0 on a GPU)
};

// Bytes of one slot's states outside of the planes.
std::size_t state_bytes(std::span<const StateKind> kinds);

struct SlotCopy {
  PoolId pool = 0;
  std::uint32_t from = 0, to = 0;
};

struct QueueConfig {
  std::string name;
  std::uint32_t threads = 1;     // compute threads, on a CPU device
  std::uint32_t max_tasks = 16;  // submitted and not done; submit() past it fails
  std::uint32_t max_cohorts = 16;
  std::uint32_t max_cohort_rows = 512;
};

// When a task ran.
struct TaskTimes {
  TimePoint begun{}, ended{};
};

// A FIFO of tasks on one device: owned by one worker, all calls from its thread (wait() and progress() too).
// Destroying it waits for the running task and drops the others.
class Queue {
 public:
  virtual ~Queue() = default;
  // Appends a task. The task stays owned by the caller, unchanged, until progress() says that it is done or
  // failed. Fails, without effect, when max_tasks are in flight or the queue has failed.
  virtual Status submit(const Task& task) = 0;
  // Copies states of `from` (this queue's device, or another one of its kind) to this queue's device after
  // task `after` of this queue; a later task sees them. What another queue does to the source is done
  // already.
  virtual Status copy_state(class Device& from, std::span<const SlotCopy> copies, TaskSeq after) = 0;
  virtual Progress progress() const = 0;  // never blocks
  // Of a task that progress() has called done, as long as no more than max_tasks were submitted from it on,
  // by the queue's own clock; nothing: it cannot tell.
  virtual std::optional<TaskTimes> times(TaskSeq) const { return std::nullopt; }
  // Blocks until a task past `beyond` is done or the queue has failed, at most `timeout`. False: it timed
  // out.
  virtual bool wait(TaskSeq beyond, Duration timeout) = 0;
};

// One memory (a GPU, or the host) with weights and state, shared by its queues. Models come and go while
// queues run: add_pool(), compile() and their opposites are called by one thread at a time; open() by another
// one; stage(), results(), read_slot() and write_slot() by any.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;
  // Allocates planes with `slots` rows each (kReservedSlots included) for the kinds; rows 0 and 1 are
  // initialised.
  virtual Status add_pool(PoolId pool, std::span<const StateKind> kinds, std::uint32_t slots) = 0;
  // Memory that one slot of such a pool takes. By default that of planes on a CPU.
  virtual std::uint64_t slot_bytes(std::span<const StateKind> kinds) const;
  // Compiles and warms up. Pools that the options name must exist. The bytes of the weights must stay until
  // remove_type().
  virtual Result<CompiledCell> compile(CellTypeId type, const Cell& cell, const Weights& weights,
                                       const CompileOptions& options) = 0;
  // Frees a compiled cell, or a pool that no compiled cell names any more. No task that needs it may be in a
  // queue. What is not there is left alone.
  virtual void remove_type(CellTypeId type) = 0;
  virtual void remove_pool(PoolId pool) = 0;
  // Computes folded tables (cells/ir/fold.h), with the bits that its tasks have, or on a device whose bits
  // depend on batch sizes as near as these are; by the loading thread, while queues run. Empty: cells for
  // this device are not folded.
  virtual FoldRows folding() const { return {}; }
  virtual Result<std::unique_ptr<Queue>> open(const QueueConfig& config) = 0;
  virtual Result<std::unique_ptr<InputPages>> stage(std::span<const InputBlock> blocks) = 0;
  virtual Result<ResultBlock> results(std::size_t size_bytes) = 0;

  // Copies one slot's states to or from host memory, kind after kind without gaps (state_bytes() in all), and
  // returns when that is done. No task in flight may touch the slot.
  virtual Status read_slot(PoolId pool, std::uint32_t slot, std::span<std::byte> to) = 0;
  virtual Status write_slot(PoolId pool, std::uint32_t slot, std::span<const std::byte> from) = 0;
};

}  // namespace volvox
