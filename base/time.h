#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace volvox {

// Instants and spans as the pure classes take them: always an argument, never read inside.
// The simulation counts virtual nanoseconds in the same types.
using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

// now + span; the end of time where that would be beyond it.
inline TimePoint later(TimePoint now, Duration span) {
  return span > TimePoint::max() - now ? TimePoint::max() : now + span;
}

// Microseconds as they came from somebody else; a year is for ever.
inline Duration wire_span(std::uint64_t us) {
  constexpr std::uint64_t kLongest = 365ULL * 24 * 3600 * 1'000'000;
  return std::chrono::microseconds(std::min(us, kLongest));
}

}  // namespace volvox
