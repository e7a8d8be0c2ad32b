#include "cells/ops/folds.h"
#include "cells/ops/reduce.h"

namespace volvox {

extern const OpDef kReduceMeanOp;
constinit const OpDef kReduceMeanOp = reduce_op<MeanFold>(
    "reduce_mean", "(x; axes) -> the mean along these axes, or all: they stay, with extent 1");

}  // namespace volvox
