#include "serving/service_estimate.h"

#include <algorithm>
#include <cmath>

namespace volvox {
namespace {

constexpr double kMemoryUs = 250'000;  // busy time after which a measurement counts for a third
constexpr double kMargin = 1.25;       // on what others cause: their steps, and the device, vary
constexpr double kPassed = 2.0;        // in its place, where newcomers of others may have their turns first
constexpr double kMostSlowdown = 20.0;
constexpr double kMeanWeight = 1.0 / 64;  // of the request that was done last, in the mean number of steps

Duration microseconds_of(double us) {
  constexpr double kLongest = 3600e6;  // an hour is as good as never
  return Duration(static_cast<Duration::rep>(std::clamp(us, 0.0, kLongest) * 1000.0));
}

double us_of(Duration duration) {
  return static_cast<double>(duration.count()) / 1000.0;
}

}  // namespace

ServiceEstimate::Ahead ServiceEstimate::Load::up_to(PriorityClass priority) const {
  Ahead sum;
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
  Load& load = loads_[model];
  load.cost = cost;
  load.mean_steps = 0;
  load.asked = {};
}

void ServiceEstimate::done(ModelId model, std::uint32_t steps) {
  if (model >= loads_.size()) return;
  double& mean = loads_[model].mean_steps;
  mean += (steps - mean) * (mean == 0 ? 1.0 : kMeanWeight);
}

std::uint32_t ServiceEstimate::usual_steps(ModelId model) const {
  return model < loads_.size() ? static_cast<std::uint32_t>(std::lround(loads_[model].mean_steps)) : 0;
}

void ServiceEstimate::enter(const ExpectedWork& work) {
  if (work.model >= loads_.size()) return;
  Load& load = loads_[work.model];
  Ahead& place = load.classes[static_cast<std::size_t>(work.priority)];
  ++place.requests;
  place.steps += work.steps;
  if (work.client == load.asked.last) return;
  if (load.asked.last != 0) load.asked.others_at_us = busy_us_;
  load.asked.last = work.client;
}

bool ServiceEstimate::may_be_passed(const ExpectedWork& work) const {
  const Asked& asked = loads_[work.model].asked;
  return busy_us_ - asked.others_at_us < kOthersUs || (asked.last != 0 && work.client != asked.last);
}

void ServiceEstimate::leave(const ExpectedWork& work) {
  if (work.model >= loads_.size()) return;
  Ahead& place = loads_[work.model].classes[static_cast<std::size_t>(work.priority)];
  place.requests -= std::min<std::uint64_t>(1, place.requests);
  place.steps -= std::min<std::uint64_t>(work.steps, place.steps);
}

void ServiceEstimate::measured(double estimated_us, Duration actual) {
  const double actual_us = us_of(actual);
  if (estimated_us <= 0 || actual_us <= 0) return;
  busy_us_ += actual_us;
  const double kept = std::exp(-actual_us / kMemoryUs);
  estimated_us_ = estimated_us_ * kept + estimated_us;
  actual_us_ = actual_us_ * kept + actual_us;
  slowdown_ = std::clamp(actual_us_ / estimated_us_, 1.0 / kMostSlowdown, kMostSlowdown);
}

// Of estimated time, what must end before there is a row for a newcomer.
double ServiceEstimate::ahead_us(const Load& load, const Ahead& before) {
  if (before.requests < load.cost.rows) return 0;
  const double share = double(before.requests - load.cost.rows + 1) / double(before.requests);
  return share * static_cast<double>(before.steps) * load.cost.unit_us();
}

Duration ServiceEstimate::wait(ModelId model) const {
  if (model >= loads_.size() || loads_[model].cost.rows == 0) return Duration::zero();
  return microseconds_of(ahead_us(loads_[model], loads_[model].up_to(PriorityClass::kNormal)) * slowdown_);
}

// Of estimated time, when the request would end.
double ServiceEstimate::finish_us(const ExpectedWork& work, const Ahead& before) const {
  const Load& load = loads_[work.model];
  const ModelCost& cost = load.cost;
  const auto together = std::min<std::uint64_t>(before.requests + 1, cost.rows);
  double own = work.steps * cost.step_us(static_cast<std::uint32_t>(together));
  own += ahead_us(load, before);
  double others = 0;
  for (const Load& other : loads_) {
    if (&other == &load) continue;
    others += std::min(other.work_us(), own * other.cost.weight / cost.weight);
  }
  return own + others;
}

ServiceEstimate::Ahead ServiceEstimate::ahead(ModelId model, PriorityClass priority) const {
  return model < loads_.size() ? loads_[model].up_to(priority) : Ahead{};
}

Forecast ServiceEstimate::forecast(const ExpectedWork& work, Duration time_left, const Ahead& at_most) const {
  if (work.model >= loads_.size() || time_left == Duration::max()) return {};
  // With nothing else to do a try costs nobody anything, and tells how fast the device is.
  if (backlog() == Duration::zero()) return {};
  ExpectedWork own = work;
  own.steps = std::max(1U, work.steps);
  const double left_us = us_of(time_left);
  const double alone_us = loads_[work.model].cost.alone_us * own.steps;
  // A device that was slow of late may be fast now: only what is impossible at the best is refused for ever.
  if (alone_us * std::min(1.0, slowdown_) > left_us)
    return {work.counted ? Forecast::Kind::kNever : Forecast::Kind::kInTime, {}};
  const Ahead now = ahead(work.model, work.priority);
  const Ahead before{std::min(now.requests, at_most.requests), std::min(now.steps, at_most.steps)};
  const double delay_us = std::max(0.0, finish_us(own, before) * slowdown_ - alone_us);
  const double needed_us = alone_us + (may_be_passed(work) ? kPassed : kMargin) * delay_us;
  if (needed_us <= left_us) return {};
  return {Forecast::Kind::kTooMuchAhead, microseconds_of(needed_us - left_us)};
}

Duration ServiceEstimate::backlog() const {
  double us = 0;
  for (const Load& load : loads_) us += load.work_us();
  return microseconds_of(us * slowdown_);
}

}  // namespace volvox
