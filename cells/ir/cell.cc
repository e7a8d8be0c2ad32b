#include "cells/ir/cell.h"

#include <algorithm>

#include "cells/ops/op.h"
#include "cells/ops/ops.h"

namespace volvox {

const Operator* Cell::producer(ValueId value) const {
  if (value == kNoValue) return nullptr;
  for (const Operator& op : operators) {
    if (op.output == value) return &op;
  }
  return nullptr;
}

ValueId Cell::unshaped(ValueId value) const {
  const Operator* op = producer(value);
  while (op != nullptr && op->is(kReshapeOp)) {
    value = op->inputs[0];
    op = producer(value);
  }
  return value;
}

bool Cell::spreads(const Operator& op) const {
  if (!op.def->pointwise) return false;
  const std::int64_t count = elements(values[op.output].shape);
  return std::any_of(op.inputs.begin(), op.inputs.end(),
                     [&](ValueId input) { return elements(values[input].shape) != count; });
}

}  // namespace volvox
