#pragma once

#include <chrono>

#include "base/time.h"

namespace volvox {

// The clock that everything outside the pure folders reads; never set back. Any thread.
inline TimePoint steady_now() {
  return std::chrono::steady_clock::now();
}

}  // namespace volvox
