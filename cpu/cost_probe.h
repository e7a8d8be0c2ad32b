#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "cpu/cells/cpu_cell.h"
#include "cpu/cells/row_source.h"
#include "device/device.h"

namespace volvox::cpu {

// The scheduler chooses batch sizes by what they cost on this machine. Runs a freshly compiled cell at the
// powers of two up to max_batch, on slots of its pools that no request has yet, which is also its warm-up.
// Takes some milliseconds a size; a size that would take too long is extrapolated.
class CostProbe {
 public:
  CostProbe(std::uint32_t threads, bool measure) : threads_(threads), measure_(measure) {}

  // Ascending in rows, from 1 to max_batch.
  Result<std::vector<CompiledCell::Cost>> costs(const CpuCell& cell, const CompileOptions& options,
                                                PoolFinder& pools) const;

 private:
  double estimate_us(const CpuCell& cell, std::uint32_t rows) const;

  std::uint32_t threads_;
  bool measure_;
};

}  // namespace volvox::cpu
