#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "device/interpreted_device.h"

namespace volvox {

// What a task costs on the timed device.
struct TimedCost {
  double fixed_us = 50;     // each task
  double per_row_us = 0.5;  // each row, padding rows included
};

// Everything around the kernels must be testable and measurable without kernels. A task of the timed device
// occupies its queue for a configured time, in which the queue's thread sleeps: so the device takes no
// processor from what is measured. Cells without a product, a convolution or a table (check, noop) are really
// computed, by interpretation; the results of others stay zero.
//
// It can be made to hang while a server runs: as long as there is a file `hangs_while`, read_slot() does not
// return. Tasks run, and states can be written: what hangs is a copy of a state off the device.
//
// Each queue has a thread of its own. Calls as device.h says.
class TimedDevice final : public InterpretedDevice {
 public:
  // An empty path: it never hangs.
  explicit TimedDevice(TimedCost cost, std::filesystem::path hangs_while = {});

  Result<CompiledCell> compile(CellTypeId type, const Cell& cell, const Weights& weights,
                               const CompileOptions& options) override;
  Result<std::unique_ptr<Queue>> open(const QueueConfig& config) override;
  Status read_slot(PoolId pool, std::uint32_t slot, std::span<std::byte> to) override;

 private:
  bool hangs() const;

  const TimedCost cost_;
  const std::filesystem::path hangs_while_;
};

}  // namespace volvox
