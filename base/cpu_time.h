#pragma once

#include <cstdint>
#include <ctime>

namespace volvox {

// CPU time so far by one of the system's clocks: CLOCK_THREAD_CPUTIME_ID, CLOCK_PROCESS_CPUTIME_ID, or
// another thread's (pthread_getcpuclockid).
inline std::uint64_t cpu_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

// Of the calling thread.
inline std::uint64_t thread_cpu_ns() {
  return cpu_ns(CLOCK_THREAD_CPUTIME_ID);
}

}  // namespace volvox
