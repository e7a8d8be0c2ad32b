#pragma once

#include <cstdint>

#include "batching/scheduler_config.h"

namespace volvox {

// Estimated microseconds of a task of `rows` rows: interpolated between the measured sizes, and in proportion
// beyond the last; 1 us a row when nothing was measured.
double task_cost_us(const TypeConfig& type, std::uint32_t rows);

struct BatchSize {
  std::uint32_t rows = 0;    // to take
  std::uint32_t padded = 0;  // to run
};

// How many of `ready` > 0 rows to run: all (up to max_batch) where every size is supported, else the
// supported size, below or above, that costs least per useful row (docs/architecture.md).
BatchSize choose_batch_size(const TypeConfig& type, std::uint32_t ready);

}  // namespace volvox
