#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "cells/ir/types.h"

namespace volvox {

// Tasks of one queue are numbered 1, 2, 3 … in submission order.
using TaskSeq = std::uint64_t;
using CohortId = std::uint32_t;
// A place in a device's memory (on the host's device: a pointer).
using DeviceAddress = std::uint64_t;

// The slot in which step t of a lane publishes its state: its slots are base, base + step, base + 2·step …,
// `ring` of them in turn.
constexpr std::uint32_t slot_in_turn(std::uint32_t base, std::uint32_t ring, std::int32_t step,
                                     std::uint32_t t) {
  return base + static_cast<std::uint32_t>(step) * (ring == 2 ? t & 1U : t % ring);
}

// Where a row reads one predecessor's state. At step t: s = offset + stride·t; the slot is `initial` when s <
// 0, else that of step s. A fixed slot is {base = slot, ring = 1, offset = 0, stride = 0}.
struct StateSource {
  std::uint32_t base = kInitialSlot;
  std::uint32_t ring = 1;
  std::int32_t offset = 0;
  std::int32_t stride = 0;
  std::uint32_t initial = kInitialSlot;
  std::int32_t step = 1;

  std::uint32_t slot(std::uint32_t t) const {
    const std::int64_t s = offset + static_cast<std::int64_t>(stride) * t;
    return s < 0 ? initial : slot_in_turn(base, ring, step, static_cast<std::uint32_t>(s));
  }
};

// Where a row reads an input: address + t·stride, whose sign says in which direction. Steps at or past
// RowBinding::length, and address 0, read zeros.
struct PullSource {
  DeviceAddress address = 0;
  std::int32_t stride_bytes = 0;
};

// Where a row writes a result at every step: address + t·stride. 0: nowhere (or by Task::emits).
struct PushTarget {
  DeviceAddress address = 0;
  std::int32_t stride_bytes = 0;
};

// The ragged predecessors of a row: the slots begin … begin+count-1 themselves, or, when `listed`, the slots
// in Task::edges[begin … begin+count-1].
struct RaggedSource {
  std::uint32_t begin = 0;
  std::uint32_t count = 0;
  bool listed = false;
};

// How one row of a batched task finds its states, inputs and results. For a lane it is written once, when the
// lane joins a cohort: everything that changes from step to step is affine in t.
struct RowBinding {
  std::array<StateSource, kMaxGathers> gathers;
  std::array<PullSource, kMaxPulls> pulls;
  std::array<PushTarget, kMaxPushes> pushes;
  RaggedSource ragged;
  std::uint32_t out_base = kSinkSlot;  // where the state is published: slot_in_turn
  std::uint32_t out_ring = 1;
  std::int32_t out_step = 1;
  // Real steps. Later ones are padding: they have no input, read initial values and write no result. Those of
  // a cohort all publish where step `length` does, so that the lane's last state stays.
  std::uint32_t length = 0;
  std::uint64_t start = 0;  // cohort tasks: t = Task::step - start. Listed rows: t of the first step
  std::uint32_t span = 1;   // listed rows: consecutive steps t, t+1 … that this row covers

  std::uint32_t out_slot(std::uint32_t t) const { return slot_in_turn(out_base, out_ring, out_step, t); }
};

// A change to a cohort's row table, applied before the task runs, in order.
struct RowChange {
  static constexpr std::uint32_t kBind = ~std::uint32_t{0};
  std::uint32_t row = 0;       // the row to write
  std::uint32_t from = kBind;  // copy this row here, or
  std::uint32_t binding = 0;   // bind Task::bindings[binding] here
};

// A result that one row writes in this task only (a chain's last step).
struct Emit {
  std::uint32_t row = 0;   // row of a cohort task; number of the listed row, whose only step it is
  std::uint32_t push = 0;  // which of the cell's results
  DeviceAddress address = 0;
};

// Rows of one cell type, run at once on one queue (docs/architecture.md).
//   Cohort task: the first `rows` rows of the cohort's row table on this queue, after `changes`.
//   Listed task: `bindings`, each covering `span` steps; `rows` is the sum of the spans.
// Every row reads before any row of the task writes a slot that another row reads (the scheduler never makes
// a task in which one row writes what another reads). Made and owned by the scheduler's pool
// (Scheduler::recycle); the queue that it was submitted to may read it until the task completes.
struct Task {
  enum class Form : std::uint8_t { kCohort, kListed };

  TaskSeq seq = 0;
  CellTypeId type = 0;
  Form form = Form::kListed;
  std::uint32_t rows = 0;
  std::uint32_t padded_rows =
      0;                   // >= rows: the batch size to run; rows in between read row 0 and write row 1
  CohortId cohort = 0;     // small and dense on each queue; of one type, which has no other there
  std::uint64_t step = 0;  // cohort tasks
  std::vector<RowChange> changes;
  std::vector<RowBinding> bindings;
  std::vector<std::uint32_t> edges;
  std::vector<Emit> emits;

  void clear();
};

using BatchedTask = std::unique_ptr<Task>;

}  // namespace volvox
