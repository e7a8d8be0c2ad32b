#include "cells/ops/folds.h"
#include "cells/ops/pool.h"

namespace volvox {

extern const OpDef kAveragePoolOp;
constinit const OpDef kAveragePoolOp =
    pool_op<MeanFold>("average_pool",
                      "(x; a convolution) -> the mean of each window of each channel, in [channels, "
                      "out_height, out_width], without the padding");

}  // namespace volvox
