#include "cpu/team/busy_clock.h"

#include <ctime>

namespace volvox::cpu {

std::uint64_t read_clock(BusyClock clock) {
  timespec now{};
  clock_gettime(clock == BusyClock::kCpu ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace volvox::cpu
