#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "device/task.h"

namespace volvox {

// How much of a row's description one cell type uses.
struct RowShape {
  std::uint32_t gathers = 0, pulls = 0, pushes = 0;
  bool ragged = false;
};
RowShape row_shape(const Cell& cell);

// One task's rows as flat arrays, as kernels read them. Every array has at least `rows` entries:
// padding rows read row 0 and zeros, write row 1, and emit nothing. Reused from task to task.
struct ResolvedRows {
  struct Push {
    std::uint32_t row = 0;
    DeviceAddress address = 0;
  };
  std::uint32_t rows = 0;                                       // padding included
  std::uint32_t real_rows = 0;                                  // the first ones
  std::array<std::vector<std::uint32_t>, kMaxGathers> gathers;  // slot read by each row
  std::array<std::vector<DeviceAddress>, kMaxPulls> pulls;      // input row read by each row; 0: zeros
  std::vector<std::uint32_t> out;                               // slot written by each row
  std::array<std::vector<Push>, kMaxPushes> pushes;             // results to write; rows may repeat
  std::vector<std::uint32_t> ragged_begin;  // row r reads ragged_slots[ragged_begin[r] … ragged_begin[r+1])
  std::vector<std::uint32_t> ragged_slots;
  std::vector<std::uint32_t> first_row;  // listed tasks: the first row of each binding
};

// The rows of a cohort stay where they are from step to step; only what changes is told
// (docs/architecture.md). The row table remembers the rest: one table for each cohort of a queue, in host
// memory. Owned by a queue and called by one thread at a time, in the order of the tasks: apply(), then
// resolve().
class RowTables {
 public:
  // Cohorts are numbered below `max_cohorts`; each has at most `max_rows` rows.
  RowTables(std::uint32_t max_cohorts, std::uint32_t max_rows);

  // Checks the task, applies a cohort task's changes and drops the rows at and past Task::rows. Fails on a
  // number out of range, and on a row of the task that was never bound; the cohort's rows are then undefined.
  Status apply(const Task& task);
  // The task's rows, for a cell of this shape. The task must have been applied, and no later one of its
  // cohort. About 2 ns a row.
  void resolve(const Task& task, const RowShape& shape, ResolvedRows& out) const;

  // The rows of a cohort task, or the bindings of a listed one.
  std::span<const RowBinding> rows(const Task& task) const;

 private:
  std::uint32_t max_rows_;
  std::vector<std::vector<RowBinding>> cohorts_;
};

}  // namespace volvox
