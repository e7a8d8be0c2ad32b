#pragma once

#include "base/error.h"
#include "gpu/driver/driver.h"

namespace volvox::gpu {

// Microseconds of one product alone: the median of 200 replays of a graph that holds 50 of them, with the
// algorithm that was chosen for it. The operands stay the same, as weights do from task to task. What a step
// of a cell is to be compared with.
Result<double> product_us(Driver& driver, const ProductShape& shape);

}  // namespace volvox::gpu
