#pragma once

#include <memory>

#include "device/interpreted_device.h"

namespace volvox {

// What a task costs on the timed device.
struct TimedCost {
  double fixed_us = 50;     // each task
  double per_row_us = 0.5;  // each row, padding rows included
};

// Everything around the kernels must be testable and measurable without kernels. A task of the timed device
// occupies its queue for a configured time, in which the queue's thread sleeps: so the device takes no
// processor from what is measured. Cells without a product (check, noop) are really computed, by
// interpretation; the results of others stay zero.
//
// Each queue has a thread of its own. Calls as device.h says.
class TimedDevice final : public InterpretedDevice {
 public:
  explicit TimedDevice(TimedCost cost, Capacity capacity = {.memory_bytes = 1ULL << 32, .queues = 64});

  Result<CompiledCell> compile(CellTypeId type, const Cell& cell, const Weights& weights,
                               const CompileOptions& options) override;
  Result<std::unique_ptr<Queue>> open(const QueueConfig& config) override;

 private:
  const TimedCost cost_;
};

}  // namespace volvox
