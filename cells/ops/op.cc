#include "cells/ops/op.h"

#include <algorithm>

namespace volvox {

const OpDef* find_op(std::string_view name) {
  const auto all = op_defs();
  const auto found = std::find_if(all.begin(), all.end(), [&](const OpDef* op) { return op->name == name; });
  return found == all.end() ? nullptr : *found;
}

}  // namespace volvox
