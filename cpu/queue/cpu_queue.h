#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "cpu/cells/cpu_cell.h"
#include "cpu/cells/workspace.h"
#include "cpu/queue/progress_board.h"
#include "device/device.h"
#include "device/planes.h"
#include "device/row_table.h"
#include "device/task_ring.h"

namespace volvox::cpu {

// What a queue asks of its device.
class CellFinder {
 public:
  virtual ~CellFinder() = default;
  virtual const CpuCell* find_cell(CellTypeId type) const = 0;  // nullptr: there is none
};

// A copy that has been checked: it cannot fail any more.
struct ReadyCopy {
  Planes* to = nullptr;
  const Planes* from = nullptr;
  SlotCopy slots;
};
class CopyChecker {
 public:
  virtual ~CopyChecker() = default;
  virtual Status check_copies(Device& from, std::span<const SlotCopy> copies,
                              std::vector<ReadyCopy>& ready) = 0;
};

// A queue on the host: an executor thread takes tasks from a ring, resolves their rows and runs the cell with
// its team. The worker's thread submits and looks at the progress. To wake an executor that sleeps takes
// longer than many a task, and once awake it would only be in the way. So a task that finds it asleep is left
// to the worker, which runs it itself when it has nothing to do but wait for it; the executor is woken when
// another one follows, or when the worker asks for progress without waiting.
// Row tables belong to whoever runs a task. The device must outlive the queue.
class CpuQueue final : public Queue {
 public:
  static Result<std::unique_ptr<Queue>> open(const QueueConfig& config, CellFinder& cells,
                                             CopyChecker& copies);
  ~CpuQueue() override;

  Status submit(const Task& task) override;
  Status copy_state(Device& from, std::span<const SlotCopy> copies, TaskSeq after) override;
  Progress progress() const override;
  std::optional<TaskTimes> times(TaskSeq seq) const override;
  // May take longer than `timeout`, by one task.
  bool wait(TaskSeq beyond, Duration timeout) override;

 private:
  // A task, or copies when `seq` is 0.
  struct Entry {
    TaskSeq seq = 0;  // of the task, which may be gone once the queue has failed
    const Task* task = nullptr;
    const CpuCell* cell = nullptr;
    std::vector<ReadyCopy> copies;
  };

  CpuQueue(const QueueConfig& config, ProductRunner runner, CellFinder& cells, CopyChecker& copies);
  Status check(const Task& task) const;

  // Executor.
  void execute();

  // Whoever runs a task, under the lock.
  void run_next();
  Status run(const Task& task, const CpuCell& cell);
  void run_copies(const std::vector<ReadyCopy>& copies);

  const QueueConfig config_;
  CellFinder& cells_;
  CopyChecker& copies_;
  TaskSeq last_ = 0;  // submitted
  // The executor slept when it was: it is left to wait(). Only the worker's thread knows.
  mutable bool left_ = false;
  ProgressBoard board_;
  // By number. The board publishes them; an entry serves again for a task that is submitted after this one is
  // done.
  std::vector<TaskTimes> times_;
  TaskRing<Entry> ring_;

  std::mutex running_;  // held by whoever runs a task
  ThreadTeam team_;
  Workspace work_;
  RowTables tables_;
  ResolvedRows rows_;
  std::thread executor_;
};

}  // namespace volvox::cpu
