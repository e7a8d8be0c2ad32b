#include "loadgen/agents/clock_estimate.h"

#include <algorithm>
#include <cmath>

namespace volvox {
namespace {

// Of instants that are no further from 0 differences can be taken; no machine runs for so long.
bool is_instant(std::int64_t ns) {
  constexpr std::int64_t kLatest = std::int64_t{1} << 60;
  return ns >= -kLatest && ns <= kLatest;
}

}  // namespace

ClockEstimate::Interval ClockEstimate::widened(std::int64_t now) const {
  const double more = kDrift * std::abs(static_cast<double>(now - known_->when));
  return {known_->low - more, known_->high + more, now};
}

void ClockEstimate::add(std::int64_t asked, std::int64_t received, std::int64_t answered,
                        std::int64_t heard) {
  if (!is_instant(asked) || !is_instant(received) || !is_instant(answered)) return;
  // Differences of instants are exact in 64 bits, where the instants themselves are not as doubles.
  const Interval heard_now{static_cast<double>(answered - heard), static_cast<double>(received - asked),
                           heard};
  if (heard < asked || answered < received || heard_now.low > heard_now.high) return;  // no clock says so
  if (!known_) {
    known_ = heard_now;
    return;
  }
  const Interval before = widened(heard);
  const Interval both{std::max(before.low, heard_now.low), std::min(before.high, heard_now.high), heard};
  if (both.low > both.high) ++jumps_;
  known_ = both.low > both.high ? heard_now : both;
}

std::optional<ClockEstimate::Offset> ClockEstimate::at(std::int64_t now) const {
  if (!known_) return std::nullopt;
  const Interval interval = widened(now);
  return Offset{static_cast<std::int64_t>(std::llround((interval.low + interval.high) / 2)),
                static_cast<std::int64_t>(std::ceil((interval.high - interval.low) / 2)) + 1};
}

}  // namespace volvox
