#include "loadgen/sweep/sweep.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace volvox {
namespace {

constexpr std::size_t kSteady = 3;  // windows
constexpr double kSpread = 0.10;    // that they are within
constexpr double kKeepsUp = 0.95;   // of the rate comes back, of a server that is not saturated
constexpr double kRaise = 1.5, kLower = 0.5;
constexpr double kPrecision = 1.05;         // of the highest good rate
constexpr std::ptrdiff_t kMostLowered = 8;  // until nothing is good
constexpr double kMostRate = 1e7;

double throughput_of(const LoadOutcome& window) {
  return window.seconds > 0 ? static_cast<double>(window.tally.completed) / window.seconds : 0.0;
}

}  // namespace

void Sweep::add(const LoadOutcome& window, SweepBatches batches) {
  batches.rate = *next_;
  batches_.push_back(std::move(batches));
  windows_.push_back(window);
  if (!finish_point()) return;
  next_ = points_.size() < kMostPoints ? choose() : std::nullopt;
}

// Whether the windows so far say all about their rate.
bool Sweep::finish_point() {
  SweepPoint point{.rate = *next_};
  for (const LoadOutcome& window : windows_) point.throughputs.push_back(throughput_of(window));
  if (windows_.size() < kSteady) return false;
  const auto last = point.throughputs.end() - static_cast<std::ptrdiff_t>(kSteady);
  const auto [least, most] = std::minmax_element(last, point.throughputs.end());
  point.stable = *most - *least <= kSpread * *most;
  if (!point.stable && windows_.size() < kMostWindows) return false;
  double seconds = 0, offered = 0;
  for (std::size_t i = windows_.size() - kSteady; i < windows_.size(); ++i) {
    point.tally.merge(windows_[i].tally);
    seconds += windows_[i].seconds;
    offered += static_cast<double>(windows_[i].tally.offered);
  }
  point.throughput = seconds > 0 ? static_cast<double>(point.tally.completed) / seconds : 0.0;
  // Against what the schedule really asked for: at random, a window has some more or fewer than its rate
  // says.
  const double asked = offered / (plan_.window_s * static_cast<double>(kSteady));
  // Where nothing was due, nothing can show that the server keeps up.
  point.saturated = !point.stable || point.tally.completed == 0 || point.throughput < kKeepsUp * asked;
  point.meets_slo = plan_.slo && !point.saturated && plan_.slo->is_met(point.tally);
  points_.push_back(std::move(point));
  windows_.clear();
  return true;
}

std::optional<double> Sweep::choose() const {
  const std::vector<SweepPoint> sorted = points();
  const bool seen_saturated = std::ranges::any_of(sorted, &SweepPoint::saturated);
  const double top = sorted.back().rate;
  if (!seen_saturated) return top * kRaise <= kMostRate ? std::optional(top * kRaise) : std::nullopt;
  const double good = highest_rps();
  if (good == 0) {
    const double bottom = sorted.front().rate;
    const auto lowered =
        std::ranges::count_if(sorted, [&](const SweepPoint& point) { return point.rate < plan_.first_rate; });
    return lowered < kMostLowered ? std::optional(bottom * kLower) : std::nullopt;
  }
  // The lowest that is bad above the highest that is good.
  const auto bad = std::ranges::find_if(sorted, [&](const SweepPoint& point) { return point.rate > good; });
  if (bad == sorted.end() || bad->rate / good <= kPrecision) return std::nullopt;
  return std::sqrt(good * bad->rate);
}

std::vector<SweepPoint> Sweep::points() const {
  std::vector<SweepPoint> sorted = points_;
  std::ranges::sort(sorted, {}, &SweepPoint::rate);
  return sorted;
}

double Sweep::saturated_rps() const {
  double most = 0;
  for (const SweepPoint& point : points_) {
    if (point.stable) most = std::max(most, point.throughput);
  }
  return most;
}

double Sweep::highest_rps() const {
  double highest = 0;
  for (const SweepPoint& point : points_) {
    if (is_good(point)) highest = std::max(highest, point.rate);
  }
  return highest;
}

Status check_sweep(const LoadPlan& plan) {
  if (plan.arrivals != Arrivals::kPoisson && plan.arrivals != Arrivals::kConstant)
    return invalid("a sweep raises the rate of an open loop; its requests come 'poisson' or 'constant'");
  if (plan.measured.count() == 0 || plan.requests > 0)
    return invalid("a window of a sweep takes some seconds; leave out the number of requests");
  return {};
}

}  // namespace volvox
