#include "cpu/team/busy_clock.h"

#include "base/clock.h"
#include "base/cpu_time.h"

namespace volvox::cpu {

std::uint64_t read_clock(BusyClock clock) {
  if (clock == BusyClock::kCpu) return thread_cpu_ns();
  return static_cast<std::uint64_t>(steady_now().time_since_epoch().count());
}

}  // namespace volvox::cpu
