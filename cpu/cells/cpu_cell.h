#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "cpu/cells/workspace.h"
#include "cpu/team/thread_team.h"
#include "device/row_table.h"

namespace volvox::cpu {

// A compiled cell: weights packed, states found. Immutable and shared by all queues of the device; what a run
// writes besides states and results lies in the queue's workspace.
class CpuCell {
 public:
  virtual ~CpuCell() = default;

  // Runs the real rows of a task: every batch size is supported, so padding rows cost nothing here. Fails,
  // having written nothing, when a row names a slot that is not there. Called by the queue's executor.
  virtual Status run(const ResolvedRows& rows, Workspace& work, ThreadTeam& team) const = 0;

  virtual const RowShape& shape() const = 0;
  virtual double flops_per_row() const = 0;
  // Of the weights that it has packed, beside the model's own.
  virtual std::uint64_t packed_bytes() const = 0;
  // "lstm", "product", "generic".
  virtual std::string kernel() const = 0;
};

}  // namespace volvox::cpu
