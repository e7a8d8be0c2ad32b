#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"

namespace volvox {

// Two machines have no clock in common, yet are to start at one instant, and what they measured is to stand
// on one axis. This bounds how far another machine's monotonic clock is ahead of this one's, by questions and
// answers as of NTP (RFC 5905, section 8): an answer that left at T3 by the other clock cannot have come
// before it left, nor can it have left before the question came at T2, so that the true offset lies between
// T3 − T4 and T2 − T1, however lopsided the network is. What several exchanges leave in common is the
// estimate; what an old one says is widened by as much as clocks drift apart. Times are nanoseconds. One
// thread at a time.
class ClockEstimate {
 public:
  // Quartz is right to some tens of millionths; two clocks may go apart by this fraction of the time.
  static constexpr double kDrift = 200e-6;

  // Asked and heard by this clock, received and answered by the other.
  void add(std::int64_t asked, std::int64_t received, std::int64_t answered, std::int64_t heard);

  struct Offset {
    std::int64_t ns = 0;        // the other clock − this one
    std::int64_t bound_ns = 0;  // the true offset is no further from it
  };
  // At an instant of this clock; nothing before the first exchange.
  std::optional<Offset> at(std::int64_t now) const;

  // Exchanges that contradict those before: one of the clocks was set, or drifts more than clocks do. The
  // estimate began anew with each.
  std::uint64_t jumps() const { return jumps_; }

 private:
  struct Interval {
    double low = 0, high = 0;
    std::int64_t when = 0;
  };
  Interval widened(std::int64_t now) const;

  std::optional<Interval> known_;
  std::uint64_t jumps_ = 0;
};

}  // namespace volvox
