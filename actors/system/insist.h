#pragma once

#include <chrono>
#include <exception>
#include <new>
#include <thread>

namespace volvox {

// Some words must be said even when memory is short: whoever waits for them would wait for ever. Tries again
// for a second; what finds no memory in all that time ends the process, which those who wait learn of. `what`
// must be the same after it threw. Any thread; blocks it.
template <class What>
auto insist(What what) noexcept {
  constexpr int kTries = 100;
  for (int tries = 1;; ++tries) {
    try {
      return what();
    } catch (const std::bad_alloc&) {
      if (tries == kTries) std::terminate();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace volvox
