#include "cells/ops/folds.h"
#include "cells/ops/reduce.h"

namespace volvox {

extern const OpDef kReduceSumOp;
constinit const OpDef kReduceSumOp = reduce_op<SumFold>(
    "reduce_sum", "(x; axes) -> the sum along these axes, or all: they stay, with extent 1");

}  // namespace volvox
