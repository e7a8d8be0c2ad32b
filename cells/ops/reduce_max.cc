#include "cells/ops/folds.h"
#include "cells/ops/reduce.h"

namespace volvox {

extern const OpDef kReduceMaxOp;
constinit const OpDef kReduceMaxOp = reduce_op<LargestFold>(
    "reduce_max",
    "(x; axes) -> the largest, NaN if one is, along these axes, or all: they stay, with extent 1");

}  // namespace volvox
