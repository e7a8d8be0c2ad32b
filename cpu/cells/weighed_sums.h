#pragma once

#include <map>

#include "cells/ir/cell.h"

namespace volvox::cpu {

// A sum over predecessors, each weighed: a product of x with a number for each stretch of it along the last
// axis, of which nothing is read but its sum. What is multiplied then lies nowhere.
struct WeighedSum {
  ValueId scales = kNoValue, x = kNoValue;
};
// By the product's value.
using WeighedSums = std::map<ValueId, WeighedSum>;
WeighedSums find_weighed_sums(const Cell& cell);

}  // namespace volvox::cpu
