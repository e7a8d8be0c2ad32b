#pragma once

#include <cmath>
#include <cstddef>

namespace volvox {

// Whether a comes before b where the largest is first: a NaN is less than all else. Of equals neither does,
// so whoever keeps them in their order has the first of them first.
template <class Real>
bool is_larger(Real a, Real b) {
  return a > b || (std::isnan(b) && !std::isnan(a));
}

}  // namespace volvox
