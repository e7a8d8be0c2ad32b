#include "cells/ir/cell.h"

namespace volvox {

const Operator* Cell::producer(ValueId value) const {
  if (value == kNoValue) return nullptr;
  for (const Operator& op : operators) {
    if (op.output == value) return &op;
  }
  return nullptr;
}

}  // namespace volvox
