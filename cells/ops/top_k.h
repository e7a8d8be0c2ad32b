#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "cells/ops/last_axis.h"
#include "cells/ops/order.h"

namespace volvox {

// Of n items, at least k, the k that come before all others, in their order, in `best`: a heap whose first
// one is the last of them. n · log k at worst.
template <class Item, class ItemAt, class Before>
void keep_first(std::size_t n, std::size_t k, Item* best, ItemAt item_at, Before before) {
  for (std::size_t i = 0; i < k; ++i) best[i] = item_at(i);
  std::make_heap(best, best + k, before);
  for (std::size_t i = k; i < n; ++i) {
    const Item item = item_at(i);
    if (!before(item, best[0])) continue;
    std::pop_heap(best, best + k, before);
    best[k - 1] = item;
    std::push_heap(best, best + k, before);
  }
  std::sort_heap(best, best + k, before);
}

// The indices of the k largest of n elements of x, of equals the first one first.
template <class Real>
void find_top(const Real* x, std::size_t n, std::size_t k, std::int32_t* best) {
  keep_first(
      n, k, best, [](std::size_t i) { return static_cast<std::int32_t>(i); },
      [x](std::int32_t a, std::int32_t b) {
        return is_larger(x[a], x[b]) || (a < b && !is_larger(x[b], x[a]));
      });
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
