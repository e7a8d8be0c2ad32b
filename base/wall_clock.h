#pragma once

#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace volvox {

// What clocks on walls show at moments of the steady clock: as of one moment, so that what is told together
// fits together, even where the wall's clock is set meanwhile. Any thread.
class WallClock {
 public:
  // `since_1970`: at that moment.
  WallClock(TimePoint moment, std::chrono::nanoseconds since_1970)
      : difference_(since_1970 - moment.time_since_epoch()) {}
  static WallClock now() {
    return {std::chrono::steady_clock::now(), std::chrono::system_clock::now().time_since_epoch()};
  }

  // Nanoseconds since 1970.
  std::int64_t unix_ns(TimePoint at) const { return (at.time_since_epoch() + difference_).count(); }

 private:
  std::chrono::nanoseconds difference_;
};

}  // namespace volvox
