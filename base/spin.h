#pragma once

#include <chrono>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace volvox {

// Tells the core that the thread is waiting for another one.
inline void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

// Spins until `ready()` or until `limit` has passed; returns the last ready().
template <class Ready>
bool spin_until(Ready ready, std::chrono::nanoseconds limit) {
  if (ready()) return true;
  const auto end = std::chrono::steady_clock::now() + limit;
  do {
    for (int i = 0; i < 16; ++i) {
      pause();
      if (ready()) return true;
    }
  } while (std::chrono::steady_clock::now() < end);
  return ready();
}

}  // namespace volvox
