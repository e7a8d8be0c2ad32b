#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "batching/request.h"
#include "device/task.h"

namespace volvox::toy {

// A device for testing schedulers: a state is one 64-bit hash of everything that a node must read, so any
// node that runs early, twice, out of place or not at all shows in every later value. Tasks run when the test
// says so, in order on each worker, and must have run before they complete.
//
// Inputs are addressed as (tag << 24) + step or node, which tells the device what a row is.
constexpr DeviceAddress input_address(std::uint64_t tag) {
  return tag << 24;
}

struct TypeShape {
  std::uint32_t gathers = 0;
  bool ragged = false;
  PoolId out_pool = 0;
  PoolId gather_pools[kMaxGathers] = {};
  PoolId ragged_pool = 0;
  std::uint32_t max_batch = 1;
  std::uint32_t pulls = 1;
};

std::uint64_t initial_state();
std::uint64_t mix(std::uint64_t hash, std::uint64_t value);

class Device {
 public:
  Device(std::vector<TypeShape> types, std::vector<std::uint32_t> pool_slots, std::uint32_t workers);

  void submit(WorkerId worker, const Task* task);
  // Runs the worker's tasks up to `seq` that have not run.
  void run_until(WorkerId worker, TaskSeq seq);
  // The worker's tasks from `seq` on will never run.
  void drop_from(WorkerId worker, TaskSeq seq);
  TaskSeq submitted(WorkerId worker) const { return queues_[worker].submitted; }
  void completed(WorkerId worker, TaskSeq up_to);

  // (tag, type, step or node) of every row that ran.
  using Node = std::tuple<std::uint64_t, CellTypeId, std::uint64_t>;
  const std::map<Node, int>& ran() const { return ran_; }
  const std::map<DeviceAddress, std::uint64_t>& outputs() const { return outputs_; }
  const std::vector<std::string>& errors() const { return errors_; }
  std::uint64_t tasks_run() const { return tasks_run_; }

 private:
  struct Queue {
    std::map<TaskSeq, const Task*> waiting;
    std::map<CohortId, std::vector<RowBinding>> cohorts;
    TaskSeq submitted = 0;
  };
  struct Write {
    PoolId pool;
    std::uint32_t slot;
    std::uint64_t value;
  };

  void run(WorkerId worker, const Task& task);
  void apply(Queue& queue, const Task& task);
  void run_row(const Task& task, const RowBinding& row, std::uint32_t step, std::vector<Write>& writes,
               std::vector<DeviceAddress> pushes);
  std::uint64_t read(PoolId pool, std::uint32_t slot);
  void error(const Task& task, const std::string& what);

  std::vector<TypeShape> types_;
  std::vector<std::vector<std::uint64_t>> planes_;
  std::vector<Queue> queues_;
  std::map<std::uint64_t, std::map<WorkerId, std::set<TaskSeq>>> in_flight_;  // by tag
  std::map<Node, int> ran_;
  std::map<DeviceAddress, std::uint64_t> outputs_;
  std::vector<std::string> errors_;
  std::uint64_t tasks_run_ = 0;
};

}  // namespace volvox::toy
