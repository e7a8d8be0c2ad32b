#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "cells/ops/last_axis.h"
#include "cells/ops/order.h"

namespace volvox {

// Of the items 0 to n - 1 the k with the largest values, largest first, of equals the first one first, in
// `best`.
template <class Item, class ItemAt, class ValueOf>
void keep_largest(std::size_t n, std::size_t k, Item* best, ItemAt item_at, ValueOf value_of) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Item item = item_at(i);
    const auto value = value_of(item);
    if (found == k && !is_larger(value, value_of(best[k - 1]))) continue;
    std::size_t at = std::min(found, k - 1);
    for (; at > 0 && is_larger(value, value_of(best[at - 1])); --at) best[at] = best[at - 1];
    best[at] = item;
    found = std::min(found + 1, k);
  }
}

// The indices of the k largest of n elements of x.
template <class Real>
void find_top(const Real* x, std::size_t n, std::size_t k, std::int32_t* best) {
  keep_largest(
      n, k, best, [](std::size_t i) { return static_cast<std::int32_t>(i); },
      [x](std::int32_t i) { return x[i]; });
}

inline Status infer_top(Inference& at, DType dtype) {
  if (Status status = needs_last_axis(at, 0); !status) return status;
  if (Status status = at.attributes(1, 1, 0); !status) return status;
  Shape shape = at.in(0).shape;
  const std::int64_t k = at.op().attributes.integers[0];
  if (k < 1 || k > shape.back()) {
    return at.error("there are no " + std::to_string(k) + " largest of " + std::to_string(shape.back()));
  }
  shape.back() = k;
  return at.produce({dtype, std::move(shape), at.in(0).ragged});
}

}  // namespace volvox
