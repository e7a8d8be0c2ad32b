#include "cells/ops/folds.h"
#include "cells/ops/pool.h"

namespace volvox {

extern const OpDef kMaxPoolOp;
constinit const OpDef kMaxPoolOp =
    pool_op<LargestFold>("max_pool",
                         "(x; a convolution) -> the largest of each window of each channel, in [channels, "
                         "out_height, out_width]; NaN if one is");

}  // namespace volvox
