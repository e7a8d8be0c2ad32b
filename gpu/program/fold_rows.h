#pragma once

#include "cells/ir/fold.h"
#include "gpu/driver/driver.h"

namespace volvox::gpu {

// What FoldRows (cells/ir/fold.h) asks for, by the device's products in this precision, some thousands of
// rows at a time. Elements are as near to those of a task as two of its batch sizes are to each other. At
// load; the loading thread. Errors: no memory for what is under way, a device that has failed.
Status fold_rows(Driver& driver, Precision precision, bool reproducible, const FoldedTable& table,
                 float* out);

}  // namespace volvox::gpu
