#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "batching/request.h"
#include "device/task.h"

namespace volvox::toy {

// A device for testing schedulers: a state is one 64-bit hash of everything that a node must read, so any
// node that runs early, twice, out of place or not at all shows in every later value. Tasks run when the test
// says so, in order on each worker, and must have run before they complete.
//
// The rows of a task may run in any order, so none may write what another, or it itself, reads. A slot is
// its request's from when that writes it until that is over; then it is poisoned: to read what nobody has
// written since, or what another request has, is an error, as it is to write what another still has.
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
  // `own_rows`: of each pool, behind the slots that requests share; the callers keep states in them that
  // outlive a request.
  Device(std::vector<TypeShape> types, const std::vector<std::uint32_t>& pool_slots, std::uint32_t own_rows,
         std::uint32_t workers);

  void submit(WorkerId worker, const Task* task);
  // Runs the worker's tasks up to `seq` that have not run.
  void run_until(WorkerId worker, TaskSeq seq);
  // The worker's tasks from `seq` on will never run.
  void drop_from(WorkerId worker, TaskSeq seq);
  TaskSeq submitted(WorkerId worker) const { return queues_[worker].submitted; }
  void completed(WorkerId worker, TaskSeq up_to);
  // The request is over. What it wrote is poisoned; but in own rows, when it is `done`, it stays.
  void release(std::uint64_t tag, bool done);
  // No task that is submitted from now on may have a step of the request's lane of this type after `last`.
  void forbid_after(std::uint64_t tag, CellTypeId type, std::uint32_t last);

  // (tag, type, step or node) of every row that ran.
  using Node = std::tuple<std::uint64_t, CellTypeId, std::uint64_t>;
  const std::map<Node, int>& ran() const { return ran_; }
  const std::map<DeviceAddress, std::uint64_t>& outputs() const { return outputs_; }
  const std::vector<std::string>& errors() const { return errors_; }
  std::uint64_t tasks_run() const { return tasks_run_; }

 private:
  static constexpr std::uint64_t kNobody = ~std::uint64_t{0}, kEverybody = kNobody - 1;
  struct State {
    std::uint64_t value = 0xdead;
    std::uint64_t owner = kNobody;  // the request that wrote it, or: it is poisoned, or anybody may read it
  };
  struct Slot {
    PoolId pool = 0;
    std::uint32_t number = 0;
    auto operator<=>(const Slot&) const = default;
  };
  struct Queue {
    std::map<TaskSeq, const Task*> waiting;
    std::map<CohortId, std::vector<RowBinding>> cohorts;
    TaskSeq submitted = 0;
  };
  struct Write {
    Slot slot;
    State state;
  };
  struct Bound {
    std::uint32_t last = 0;
    std::vector<TaskSeq> from;  // by worker: the first task that it binds
  };

  void run(WorkerId worker, const Task& task);
  void apply(Queue& queue, const Task& task);
  void run_row(WorkerId worker, const Task& task, const RowBinding& row, std::uint32_t step,
               std::vector<DeviceAddress> pushes);
  void check_step(WorkerId worker, const Task& task, const Node& node);
  std::uint64_t read(const Task& task, std::uint64_t tag, Slot slot);
  void finish_writes(const Task& task);
  void error(const Task& task, const std::string& what);

  std::vector<TypeShape> types_;
  std::vector<std::vector<State>> planes_;
  std::vector<std::uint32_t> shared_;  // by pool: its slots that requests share
  std::vector<Queue> queues_;
  std::map<std::uint64_t, std::map<WorkerId, std::set<TaskSeq>>> in_flight_;  // by tag
  std::set<std::uint64_t> over_;                                              // requests
  std::map<std::pair<std::uint64_t, CellTypeId>, Bound> bounds_;
  std::set<Slot> gathered_;     // by the task that runs
  std::vector<Write> written_;  // by it
  std::map<Node, int> ran_;
  std::map<DeviceAddress, std::uint64_t> outputs_;
  std::vector<std::string> errors_;
  std::uint64_t tasks_run_ = 0;
};

}  // namespace volvox::toy
