#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "cells/ops/last_axis.h"
#include "cells/ops/order.h"

namespace volvox {

// The k largest of n elements of x, largest first, of equals the first one first: their indices, in `best`.
template <class Real>
void find_top(const Real* x, std::size_t n, std::size_t k, std::int32_t* best) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (found == k && !is_larger(x[i], x[best[k - 1]])) continue;
    std::size_t at = std::min(found, k - 1);
    for (; at > 0 && is_larger(x[i], x[best[at - 1]]); --at) best[at] = best[at - 1];
    best[at] = static_cast<std::int32_t>(i);
    found = std::min(found + 1, k);
  }
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
