#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "base/time.h"

namespace volvox {

// One measured request, for whoever wants to see what happened when.
struct TimelineEntry {
  TimePoint scheduled;
  Duration took{};      // until its answer came, or it was given up
  std::string outcome;  // "OK", or how it failed: an error code or kLost
};
using Timeline = std::vector<TimelineEntry>;

// A line for each, after one with the names: scheduled_us,took_us,outcome. The first is by the machine's
// monotonic clock, so that other programs can say what they did at the time.
void write_timeline(const Timeline& timeline, std::ostream& out);

}  // namespace volvox
