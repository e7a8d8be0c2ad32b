#pragma once

#include <cstdint>
#include <utility>

#include "base/time.h"

namespace volvox {

// Strangers must not be able to write a log as fast as they can knock: what happens often is summed up, in a
// line of it at most every `between`. One thread at a time.
class Tally {
 public:
  explicit Tally(Duration between = std::chrono::seconds(1)) : between_(between) {}

  void add(std::uint64_t count) { count_ += count; }
  // How many to tell of now; 0: nothing, or not yet.
  std::uint64_t due(TimePoint now) {
    if (count_ == 0 || (told_ != TimePoint{} && now - told_ < between_)) return 0;
    told_ = now;
    return std::exchange(count_, 0);
  }

 private:
  const Duration between_;
  std::uint64_t count_ = 0;
  TimePoint told_{};
};

}  // namespace volvox
