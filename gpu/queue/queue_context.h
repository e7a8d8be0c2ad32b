#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "device/device.h"
#include "device/row_table.h"
#include "gpu/driver/driver.h"
#include "gpu/memory/input_arena.h"
#include "gpu/memory/mirror.h"
#include "gpu/program/gpu_cell.h"
#include "gpu/queue/payload_ring.h"
#include "gpu/queue/task_encoder.h"

namespace volvox::gpu {

// A copy of states that has been checked.
struct ReadyCopy {
  const GpuPlanes* to = nullptr;
  const GpuPlanes* from = nullptr;
  SlotCopy slots;
};

// What one queue has on the device: a stream, the rings of task descriptors, row tables, scratch and graphs
// of every cell type, and the word that the device writes when a task is done. Everything is allocated,
// captured and uploaded before it serves.
//
// take(), copy() and flush() are called by one thread, the launcher; prepare() at load, by another; done(),
// failed() and kernel_ns() by any.
class QueueContext {
 public:
  static Result<std::unique_ptr<QueueContext>> make(std::shared_ptr<Driver> driver, InputArena& inputs,
                                                    const QueueConfig& config);
  ~QueueContext();

  // Makes scratch for the type and captures a graph for each of its sizes. `cell` must outlive the context.
  Status prepare(const GpuCell& cell);
  // Gives up scratch and graphs of a type that no task in flight has.
  void forget(CellTypeId type);

  enum class Taken : std::uint8_t { kYes, kLater };  // kLater: flush, and wait for earlier tasks
  // Encodes the task for the next flush. The task is not read again afterwards.
  Result<Taken> take(const Task& task);
  // Whether as many tasks have been taken as go up in one group.
  bool full() const { return group_.size() >= kGroup; }
  // Copies what take() wrote to the device and launches the tasks.
  Status flush();
  Status copy(const std::vector<ReadyCopy>& copies);

  // Before the first task: all up to this one count as done, by a queue that was there before.
  void begin_after(TaskSeq done);
  TaskSeq done() const;
  // The first task that named a slot that is not there, once those before it are done; 0: none.
  TaskSeq failed() const;
  std::uint64_t kernel_ns() const;
  Status synchronise() { return driver_->synchronise(stream_); }
  Driver& driver() { return *driver_; }

  // Everything that a task of `size` rows and `edges` edges gives to the queue's stream, given to the one
  // that captures graphs. `fused`: by the fused kernel.
  struct TypeContext;
  Status launch_kernels(const TypeContext& type, std::uint32_t size, std::uint32_t edges, bool fused);
  // The products of a type's cell, with example operands in the scratch of this queue.
  Status plan_products(GpuCell& cell);
  Status plan_convolutions(GpuCell& cell);
  // Chooses a path for a size, and captures that.
  Status capture(const GpuCell& cell, std::uint32_t size, std::uint32_t edges, bool fused);

 private:
  static constexpr std::size_t kGroup = 16;
  struct Launch {
    const TypeContext* type = nullptr;
    GraphId graph = 0;       // 0: a direct task
    std::uint32_t size = 0;  // rows, padding included
    TaskHeader header{};     // of a direct task
  };
  Status launch_direct(const Launch& launch);

  QueueContext(std::shared_ptr<Driver> driver, InputArena& inputs, const QueueConfig& config);
  Status allocate();
  Status allocate_type(TypeContext& type);
  TypeContext* find(CellTypeId type);
  ResolveCall resolve_call(const TypeContext& type, std::uint32_t size) const;
  bool has_landed(const Task& task) const;
  Status warm_up(const TypeContext& type, std::uint32_t size, std::uint32_t edges);
  Status launch_step(const TypeContext& type, const CellPlan::Step& step, std::uint32_t size,
                     std::uint32_t edges, bool last, DeviceAddress workspace);

  const std::shared_ptr<Driver> driver_;
  InputArena& inputs_;
  const QueueConfig config_;
  StreamId stream_ = 0, capture_stream_ = 0;
  std::uint64_t header_mask_ = 0;
  std::optional<Mirror> headers_, payload_;
  DeviceMemory state_;
  DeviceMemory workspace_, capture_workspace_;  // of stream_, of capture_stream_: both may run at once
  PinnedMemory completion_;
  QueueView view_{};

  // The launcher's own.
  RowTables row_tables_;
  TaskEncoder encoder_;
  PayloadRing payload_ring_;
  const Task* applied_ = nullptr;  // the task whose changes are in the row tables already
  std::uint64_t launched_ = 0;     // tasks encoded into the ring so far
  std::vector<Launch> group_;
  bool unlanded_ = false;      // a task of the group reads an input whose copy may not be made yet
  std::uint64_t directs_ = 0;  // direct tasks launched so far
  bool after_direct_ = false;  // what was given to the stream last is a direct task

  std::mutex mutex_;  // guards the map; entries stay where they are
  std::map<CellTypeId, std::unique_ptr<TypeContext>> types_;
};

}  // namespace volvox::gpu
