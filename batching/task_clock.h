#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"

namespace volvox {

// A queue does not say how long its running task has taken; but it is a FIFO, so the tasks that go in and
// come back tell: the first one runs since it went in, or since the one before came back. One worker's. Pure;
// not thread-safe.
class TaskClock {
 public:
  void submitted(std::uint32_t tasks, TimePoint now) {
    if (in_flight_ == 0) since_ = now;
    in_flight_ += tasks;
  }
  // So many came back, done or not. Returns how long the queue was busy with them.
  Duration ended(std::uint32_t tasks, TimePoint now) {
    in_flight_ -= tasks < in_flight_ ? tasks : in_flight_;
    const Duration busy = now - since_;
    since_ = now;
    return busy;
  }

  // When the running task will have taken `at_most`; nothing while none runs.
  std::optional<TimePoint> overdue_at(Duration at_most) const {
    return in_flight_ == 0 ? std::nullopt : std::optional(since_ + at_most);
  }

 private:
  std::uint32_t in_flight_ = 0;
  TimePoint since_{};
};

}  // namespace volvox
