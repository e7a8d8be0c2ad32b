#pragma once

#include <chrono>

namespace volvox {

// Instants and spans as the pure classes take them: always an argument, never read inside.
// The simulation counts virtual nanoseconds in the same types.
using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

// now + span; the end of time where that would be beyond it.
inline TimePoint later(TimePoint now, Duration span) {
  return span > TimePoint::max() - now ? TimePoint::max() : now + span;
}

}  // namespace volvox
