#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace volvox {

// A rate at one time; between two points it changes evenly, and where two points have one time it jumps.
struct RatePoint {
  double at_s = 0;
  double rate = 0;  // requests a second

  bool operator==(const RatePoint&) const = default;
};

// Requests that come more often at some times than at others, as strangers do: a Poisson process whose rate
// changes by the hour (E²bird §8.2), or in bursts. The curve begins anew after its last point. Immutable: any
// number of threads.
class RateCurve {
 public:
  static constexpr std::size_t kMostPoints = 10'000;

  // INVALID_ARGUMENT unless the points begin at 0, do not go back in time, and some request comes.
  static Result<RateCurve> make(std::vector<RatePoint> points);
  // `rate` for `on_s` seconds, then `off_rate` for `off_s`.
  static Result<RateCurve> bursts(double rate, double on_s, double off_rate, double off_s);
  // A day that takes `period_s`: from `low` at its beginning to `high` in its middle and back, as a cosine.
  static Result<RateCurve> day(double low, double high, double period_s);

  // The time in seconds by which so many requests are due on average.
  double when(double expected) const;
  double peak() const;  // requests a second
  double mean() const;  // likewise
  double period_s() const { return points_.back().at_s; }
  const std::vector<RatePoint>& points() const { return points_; }

 private:
  explicit RateCurve(std::vector<RatePoint> points);

  std::vector<RatePoint> points_;
  std::vector<double> before_;  // requests due, on average, before each point
};

}  // namespace volvox
