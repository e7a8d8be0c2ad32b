#include "tests/unit/batching/toy_device.h"

#include <algorithm>

#include "cells/ir/cell.h"
#include "cells/ir/check_hash.h"

namespace volvox::toy {
namespace {

std::string name(PoolId pool, std::uint32_t slot) {
  return "slot " + std::to_string(slot) + " of pool " + std::to_string(pool);
}

}  // namespace

std::uint64_t initial_state() {
  return 0x1234567;
}
std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  return check_hash(hash, value);
}

Device::Device(std::vector<TypeShape> types, const std::vector<std::uint32_t>& pool_slots,
               std::uint32_t own_rows, std::uint32_t workers)
    : types_(std::move(types)), shared_(pool_slots), queues_(workers) {
  for (std::uint32_t slots : pool_slots) {
    planes_.emplace_back(slots + own_rows);
    planes_.back()[kInitialSlot] = {initial_state(), kEverybody};
  }
}

void Device::error(const Task& task, const std::string& what) {
  errors_.push_back("task " + std::to_string(task.seq) + " of type " + std::to_string(task.type) + ": " +
                    what);
}

void Device::submit(WorkerId worker, const Task* task) {
  Queue& queue = queues_[worker];
  if (task->seq != queue.submitted + 1) error(*task, "out of order");
  if (task->rows == 0) error(*task, "empty");
  if (task->padded_rows < task->rows || task->padded_rows > types_[task->type].max_batch)
    error(*task, "too large");
  queue.submitted = task->seq;
  queue.waiting[task->seq] = task;
}

void Device::run_until(WorkerId worker, TaskSeq seq) {
  auto& waiting = queues_[worker].waiting;
  while (!waiting.empty() && waiting.begin()->first <= seq) {
    run(worker, *waiting.begin()->second);
    waiting.erase(waiting.begin());
  }
}

void Device::drop_from(WorkerId worker, TaskSeq seq) {
  Queue& queue = queues_[worker];
  queue.waiting.erase(queue.waiting.lower_bound(seq), queue.waiting.end());
  queue.cohorts.clear();
  completed(worker, queue.submitted);
}

void Device::completed(WorkerId worker, TaskSeq up_to) {
  for (auto& [tag, workers] : in_flight_) {
    auto& seqs = workers[worker];
    seqs.erase(seqs.begin(), seqs.upper_bound(up_to));
  }
}

void Device::release(std::uint64_t tag, bool done) {
  over_.insert(tag);
  for (PoolId pool = 0; pool < planes_.size(); ++pool) {
    for (std::uint32_t slot = 0; slot < planes_[pool].size(); ++slot) {
      State& state = planes_[pool][slot];
      if (state.owner != tag) continue;
      state = done && slot >= shared_[pool] ? State{state.value, kEverybody} : State{};
    }
  }
}

void Device::forbid_after(std::uint64_t tag, CellTypeId type, std::uint32_t last) {
  Bound& bound = bounds_[{tag, type}];
  bound.last = last;
  bound.from.clear();
  for (const Queue& queue : queues_) bound.from.push_back(queue.submitted + 1);
}

void Device::apply(Queue& queue, const Task& task) {
  auto& rows = queue.cohorts[task.cohort];
  for (const RowChange& change : task.changes) {
    if (change.row >= rows.size()) rows.resize(change.row + 1);
    if (change.from == RowChange::kBind) {
      rows[change.row] = task.bindings.at(change.binding);
    } else if (change.from < rows.size()) {
      rows[change.row] = rows[change.from];
    } else {
      error(task, "moves a row that is not there");
    }
  }
  if (task.rows > rows.size()) error(task, "more rows than the cohort has");
}

void Device::run(WorkerId worker, const Task& task) {
  ++tasks_run_;
  gathered_.clear();
  written_.clear();
  std::uint32_t ran = 0;
  const auto note = [&](const RowBinding& row) {
    in_flight_[row.pulls[0].address >> 24][worker].insert(task.seq);
  };
  const auto pushes_of = [&](std::uint32_t row) {
    std::vector<DeviceAddress> pushes;
    for (const Emit& emit : task.emits) {
      if (emit.row == row) pushes.push_back(emit.address);
    }
    return pushes;
  };
  if (task.form == Task::Form::kCohort) {
    apply(queues_[worker], task);
    const auto& rows = queues_[worker].cohorts[task.cohort];
    for (std::uint32_t r = 0; r < task.rows && r < rows.size(); ++r, ++ran) {
      note(rows[r]);
      const auto step = static_cast<std::uint32_t>(task.step - rows[r].start);
      run_row(worker, task, rows[r], std::min(step, rows[r].length), pushes_of(r));
    }
  } else {
    for (std::uint32_t r = 0; r < task.bindings.size(); ++r) {
      note(task.bindings[r]);
      for (std::uint32_t i = 0; i < task.bindings[r].span; ++i, ++ran) {
        run_row(worker, task, task.bindings[r], static_cast<std::uint32_t>(task.bindings[r].start) + i,
                pushes_of(r));
      }
    }
  }
  if (ran != task.rows) error(task, "rows and bindings disagree");
  finish_writes(task);
  for (const auto& [tag, workers] : in_flight_) {
    int on = 0;
    for (const auto& [w, seqs] : workers) on += seqs.empty() ? 0 : 1;
    if (on > 1) error(task, "request " + std::to_string(tag) + " is in flight on two workers");
  }
}

void Device::run_row(WorkerId worker, const Task& task, const RowBinding& row, std::uint32_t step,
                     std::vector<DeviceAddress> pushes) {
  const TypeShape& shape = types_[task.type];
  const DeviceAddress input = row.pulls[0].address + std::uint64_t{step} * row.pulls[0].stride_bytes;
  const std::uint64_t tag = row.pulls[0].address >> 24;
  const bool real = step < row.length;
  if (over_.contains(tag)) error(task, "has a row of request " + std::to_string(tag) + ", which is over");
  if (real) check_step(worker, task, {input >> 24, task.type, input & 0xffffff});
  std::uint64_t hash = mix(task.type, real ? input : 0);
  for (std::uint32_t g = 0; g < shape.gathers; ++g) {
    hash =
        mix(hash, read(task, tag, {shape.gather_pools[g], real ? row.gathers[g].slot(step) : kInitialSlot}));
  }
  for (std::uint32_t i = 0; shape.ragged && i < row.ragged.count; ++i) {
    const std::uint32_t slot = row.ragged.listed ? task.edges.at(row.ragged.begin + i) : row.ragged.begin + i;
    hash = mix(hash, read(task, tag, {shape.ragged_pool, slot}));
  }
  written_.push_back({{shape.out_pool, row.out_slot(step)}, {hash, tag}});
  if (row.pushes[0].address != 0) {
    pushes.push_back(row.pushes[0].address + std::uint64_t{step} * row.pushes[0].stride_bytes);
  }
  for (DeviceAddress address : pushes) {
    if (real && !outputs_.emplace(address, hash).second) error(task, "writes a result twice");
  }
}

void Device::check_step(WorkerId worker, const Task& task, const Node& node) {
  ++ran_[node];
  const auto bound = bounds_.find({std::get<0>(node), task.type});
  if (bound == bounds_.end() || task.seq < bound->second.from[worker]) return;
  if (std::get<2>(node) > bound->second.last) error(task, "goes on with a lane that was stopped before");
}

std::uint64_t Device::read(const Task& task, std::uint64_t tag, Slot slot) {
  gathered_.insert(slot);
  const State& state = planes_[slot.pool].at(slot.number);
  if (state.owner == kNobody)
    error(task, "reads " + name(slot.pool, slot.number) + ", which nobody has written since it was free");
  if (state.owner != tag && state.owner < kEverybody) {
    error(task, "reads " + name(slot.pool, slot.number) + " for request " + std::to_string(tag) +
                    ", which request " + std::to_string(state.owner) + " has written");
  }
  return state.value;
}

// Those of the whole task come after all of its reads.
void Device::finish_writes(const Task& task) {
  std::set<Slot> written;
  for (const Write& write : written_) {
    if (!written.insert(write.slot).second)
      error(task, "writes " + name(write.slot.pool, write.slot.number) + " twice");
    if (gathered_.contains(write.slot))
      error(task, "writes " + name(write.slot.pool, write.slot.number) + ", which it also reads");
    if (write.slot.number < kReservedSlots)
      error(task, "writes " + name(write.slot.pool, write.slot.number) + ", which is reserved");
    State& state = planes_[write.slot.pool].at(write.slot.number);
    if (state.owner != write.state.owner && state.owner < kEverybody) {
      error(task, "writes " + name(write.slot.pool, write.slot.number) + " for request " +
                      std::to_string(write.state.owner) + ", which request " + std::to_string(state.owner) +
                      " still has");
    }
    state = write.state;
  }
}

}  // namespace volvox::toy
