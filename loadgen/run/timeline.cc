#include "loadgen/run/timeline.h"

#include <chrono>

namespace volvox {

void write_timeline(const Timeline& timeline, std::ostream& out) {
  using std::chrono::duration_cast, std::chrono::microseconds;
  out << "scheduled_us,took_us,outcome\n";
  for (const TimelineEntry& entry : timeline) {
    out << duration_cast<microseconds>(entry.scheduled.time_since_epoch()).count() << ','
        << duration_cast<microseconds>(entry.took).count() << ',' << entry.outcome << '\n';
  }
}

}  // namespace volvox
