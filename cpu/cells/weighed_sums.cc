#include "cpu/cells/weighed_sums.h"

#include <algorithm>

#include "cells/ops/ops.h"

namespace volvox::cpu {
namespace {

// The inputs of a product, if one has a number for each stretch of the other.
WeighedSum weighed_of(const Cell& cell, const Operator& product) {
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const WeighedSum sum{product.inputs[i], product.inputs[1 - i]};
    const Value &scales = cell.values[sum.scales], &x = cell.values[sum.x];
    if (!scales.ragged || !x.ragged || x.shape.empty() || scales.shape.size() != x.shape.size()) continue;
    const bool same = std::equal(x.shape.begin(), x.shape.end() - 1, scales.shape.begin());
    if (same && scales.shape.back() == 1 && x.shape.back() > 1) return sum;
  }
  return {};
}

}  // namespace

WeighedSums find_weighed_sums(const Cell& cell) {
  WeighedSums sums;
  for (const Operator& op : cell.operators) {
    if (!op.is(kSegmentSumOp)) continue;
    const ValueId weighed = op.inputs.front();
    const Operator* product = cell.producer(weighed);
    if (product == nullptr || !product->is(kMulOp)) continue;
    const auto reads = [weighed](const Operator& other) {
      return std::count(other.inputs.begin(), other.inputs.end(), weighed);
    };
    long readers = 0;
    for (const Operator& other : cell.operators) readers += reads(other);
    const WeighedSum sum = weighed_of(cell, *product);
    if (readers == 1 && sum.x != kNoValue) sums.emplace(weighed, sum);
  }
  return sums;
}

}  // namespace volvox::cpu
