#include "loadgen/plan/rate_curve.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>

namespace volvox {
namespace {

constexpr double kHighestRate = 1e7;
constexpr double kLongestPeriod = 1e9;
constexpr int kStepsOfADay = 96;  // a quarter of an hour each

}  // namespace

RateCurve::RateCurve(std::vector<RatePoint> points) : points_(std::move(points)) {
  before_.push_back(0);
  for (std::size_t i = 1; i < points_.size(); ++i) {
    const double mean = (points_[i - 1].rate + points_[i].rate) / 2;
    before_.push_back(before_.back() + mean * (points_[i].at_s - points_[i - 1].at_s));
  }
}

Result<RateCurve> RateCurve::make(std::vector<RatePoint> points) {
  if (points.size() < 2 || points.size() > kMostPoints || points.front().at_s != 0)
    return invalid("a curve of rates has from 2 to " + std::to_string(kMostPoints) +
                   " points, [seconds, requests a second], the first at 0 s");
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto [at_s, rate] = points[i];
    const bool ordered = i == 0 || at_s >= points[i - 1].at_s;
    if (!std::isfinite(at_s) || at_s > kLongestPeriod || !ordered)
      return invalid("the points of a curve of rates do not go back in time");
    if (!std::isfinite(rate) || rate < 0 || rate > kHighestRate)
      return invalid("the rates of a curve are from 0 to 10000000 requests a second");
  }
  RateCurve curve(std::move(points));
  if (!(curve.before_.back() > 0)) return invalid("by this curve of rates no request ever comes");
  return curve;
}

Result<RateCurve> RateCurve::bursts(double rate, double on_s, double off_rate, double off_s) {
  if (!(on_s > 0) || !(off_s > 0))
    return invalid("bursts last some seconds, and so do the pauses between them");
  return make({{0, rate}, {on_s, rate}, {on_s, off_rate}, {on_s + off_s, off_rate}});
}

Result<RateCurve> RateCurve::day(double low, double high, double period_s) {
  if (!(low <= high) || !(period_s > 0))
    return invalid("a day takes some seconds, and its high is not below its low");
  std::vector<RatePoint> points;
  for (int i = 0; i <= kStepsOfADay; ++i) {
    const double part = static_cast<double>(i) / kStepsOfADay;
    const double height = (1 - std::cos(2 * std::numbers::pi * part)) / 2;
    points.push_back({period_s * part, low + (high - low) * height});
  }
  return make(std::move(points));
}

double RateCurve::when(double expected) const {
  const double whole = std::floor(expected / before_.back());
  const double rest = std::clamp(expected - whole * before_.back(), 0.0, before_.back());
  const auto next = std::upper_bound(before_.begin() + 1, before_.end() - 1, rest);
  const auto i = static_cast<std::size_t>(next - before_.begin());
  const RatePoint from = points_[i - 1], to = points_[i];
  // rest = from.rate · x + slope · x² / 2, solved for x without losing digits where the slope is small.
  const double area = rest - before_[i - 1], length = to.at_s - from.at_s;
  const double slope = length > 0 ? (to.rate - from.rate) / length : 0.0;
  const double root = std::sqrt(std::max(from.rate * from.rate + 2 * slope * area, 0.0));
  const double x = area > 0 ? 2 * area / (from.rate + root) : 0.0;
  return whole * period_s() + from.at_s + std::min(x, length);
}

double RateCurve::peak() const {
  return std::ranges::max_element(points_, {}, &RatePoint::rate)->rate;
}

double RateCurve::mean() const {
  return before_.back() / period_s();
}

}  // namespace volvox
