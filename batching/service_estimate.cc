#include "batching/service_estimate.h"

#include <algorithm>
#include <cmath>

namespace volvox {
namespace {

constexpr double kMemoryUs = 250'000;  // busy time after which a measurement counts for a third
constexpr double kMargin = 1.25;       // on what others cause: their steps, and the device, vary
constexpr double kMostSlowdown = 20.0;
constexpr double kMeanWeight = 1.0 / 64;  // of the newest request, in the mean number of steps

Duration microseconds_of(double us) {
  constexpr double kLongest = 3600e6;  // an hour is as good as never
  return Duration(static_cast<Duration::rep>(std::clamp(us, 0.0, kLongest) * 1000.0));
}

double us_of(Duration duration) {
  return static_cast<double>(duration.count()) / 1000.0;
}

}  // namespace

ServiceEstimate::Class ServiceEstimate::Load::up_to(PriorityClass priority) const {
  Class sum;
  for (std::size_t c = 0; c <= static_cast<std::size_t>(priority); ++c) {
    sum.requests += classes[c].requests;
    sum.steps += classes[c].steps;
  }
  return sum;
}

double ServiceEstimate::Load::work_us() const {
  return static_cast<double>(up_to(PriorityClass::kLow).steps) * cost.unit_us();
}

void ServiceEstimate::set_model(ModelId model, const ModelCost& cost) {
  if (model >= loads_.size()) loads_.resize(model + 1);
  loads_[model].cost = cost;
}

ExpectedWork ServiceEstimate::completed(ExpectedWork work) const {
  if (work.steps == 0 && work.model < loads_.size())
    work.steps = static_cast<std::uint32_t>(std::lround(loads_[work.model].mean_steps));
  return work;
}

void ServiceEstimate::enter(const ExpectedWork& work) {
  if (work.model >= loads_.size()) return;
  Load& load = loads_[work.model];
  Class& place = load.classes[static_cast<std::size_t>(work.priority)];
  ++place.requests;
  place.steps += work.steps;
  load.mean_steps += (work.steps - load.mean_steps) * (load.mean_steps == 0 ? 1.0 : kMeanWeight);
}

void ServiceEstimate::leave(const ExpectedWork& work) {
  if (work.model >= loads_.size()) return;
  Class& place = loads_[work.model].classes[static_cast<std::size_t>(work.priority)];
  place.requests -= std::min<std::uint64_t>(1, place.requests);
  place.steps -= std::min<std::uint64_t>(work.steps, place.steps);
}

void ServiceEstimate::measured(double estimated_us, Duration actual) {
  const double actual_us = us_of(actual);
  if (estimated_us <= 0 || actual_us <= 0) return;
  const double kept = std::exp(-actual_us / kMemoryUs);
  estimated_us_ = estimated_us_ * kept + estimated_us;
  actual_us_ = actual_us_ * kept + actual_us;
  slowdown_ = std::clamp(actual_us_ / estimated_us_, 1.0 / kMostSlowdown, kMostSlowdown);
}

// Of estimated time, when the request would end.
double ServiceEstimate::finish_us(const ExpectedWork& work) const {
  const Load& load = loads_[work.model];
  const Class before = load.up_to(work.priority);
  const ModelCost& cost = load.cost;
  const auto together = std::min<std::uint64_t>(before.requests + 1, cost.rows);
  double own = work.steps * cost.step_us(static_cast<std::uint32_t>(together));
  if (before.requests >= cost.rows) {  // this many must end before there is a row for it
    const double share = double(before.requests - cost.rows + 1) / double(before.requests);
    own += share * static_cast<double>(before.steps) * cost.unit_us();
  }
  double others = 0;
  for (const Load& other : loads_) {
    if (&other == &load) continue;
    others += std::min(other.work_us(), own * other.cost.weight / cost.weight);
  }
  return own + others;
}

Forecast ServiceEstimate::forecast(const ExpectedWork& work, Duration time_left) const {
  if (work.model >= loads_.size() || work.steps == 0) return {};
  const double left_us = us_of(time_left);
  const double alone_us = loads_[work.model].cost.alone_us * work.steps;
  // A device that was slow of late may be fast now: only what is impossible at the best is refused for ever.
  if (alone_us * std::min(1.0, slowdown_) > left_us) return {Forecast::Kind::kNever, {}};
  const double delay_us = std::max(0.0, finish_us(work) * slowdown_ - alone_us);
  const bool lonely = backlog() == Duration::zero();  // a try costs nobody anything, and tells how fast it is
  const double needed_us = alone_us + kMargin * delay_us;
  if (lonely || needed_us <= left_us) return {};
  return {Forecast::Kind::kTooMuchAhead, microseconds_of(needed_us - left_us)};
}

Duration ServiceEstimate::backlog() const {
  double us = 0;
  for (const Load& load : loads_) us += load.work_us();
  return microseconds_of(us * slowdown_);
}

}  // namespace volvox
