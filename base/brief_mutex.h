#pragma once

#include <chrono>
#include <mutex>

#include "base/spin.h"

namespace volvox {

// A mutex for what takes less than a microsecond and is asked for by several threads hundreds of thousands
// of times a second: whoever finds it taken looks again for a while before going to sleep, which costs both
// sides a call of the system. Nothing that may wait belongs under it. Locked and unlocked as std::mutex is.
class BriefMutex {
 public:
  void lock() {
    if (!spin_until([this] { return mutex_.try_lock(); }, kSpin)) mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }

 private:
  static constexpr std::chrono::microseconds kSpin{5};
  std::mutex mutex_;
};

}  // namespace volvox
