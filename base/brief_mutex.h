#pragma once

#include <mutex>

#include "base/spin.h"

namespace volvox {

// A mutex for what takes less than a microsecond and is asked for by several threads hundreds of thousands
// of times a second: whoever finds it taken looks again for a while before going to sleep, which costs both
// sides a call of the system. Nothing that may wait belongs under it. Locked and unlocked as std::mutex is.
class BriefMutex {
 public:
  void lock() {
    for (int i = 0; i < kLooks; ++i) {
      if (mutex_.try_lock()) return;
      pause();
    }
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }

 private:
  static constexpr int kLooks = 100;
  std::mutex mutex_;
};

}  // namespace volvox
