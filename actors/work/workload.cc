#include "actors/work/workload.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace volvox {

WorkPlace::WorkPlace(std::shared_ptr<Workload> workload, ModelId model, PriorityClass priority, bool waits,
                     std::uint64_t client)
    : workload_(std::move(workload)), work_{model, priority}, entered_(!waits) {
  work_.client = client;
  const std::lock_guard lock(workload_->mutex_);
  ahead_ = workload_->estimate_.ahead(model, priority);
  if (waits) return;
  work_.steps = workload_->estimate_.usual_steps(model);
  workload_->estimate_.enter(work_);
}

WorkPlace::~WorkPlace() {
  leave();
}

void WorkPlace::leave() {
  if (left_) return;
  const std::lock_guard lock(workload_->mutex_);
  leave_locked();
}

void WorkPlace::leave_locked() {
  if (std::exchange(entered_, false)) workload_->estimate_.leave(work_);
  left_ = true;
}

Forecast WorkPlace::correct(std::uint32_t steps, Duration time_left) {
  const std::lock_guard lock(workload_->mutex_);
  ServiceEstimate& estimate = workload_->estimate_;
  if (std::exchange(entered_, false)) estimate.leave(work_);
  work_.steps = steps;
  work_.counted = true;
  const Forecast forecast = estimate.forecast(work_, time_left, ahead_);
  entered_ = !left_;
  if (entered_) estimate.enter(work_);
  return forecast;
}

void WorkPlace::done(std::uint32_t steps) {
  const std::lock_guard lock(workload_->mutex_);
  workload_->estimate_.done(work_.model, steps);
  leave_locked();
}

void Workload::set_model(ModelId model, const ModelCost& cost) {
  const std::lock_guard lock(mutex_);
  estimate_.set_model(model, cost);
}

Forecast Workload::forecast(const ExpectedWork& work, Duration time_left) const {
  const std::lock_guard lock(mutex_);
  return estimate_.forecast(work, time_left);
}

void Workload::measured(double estimated_us, Duration actual) {
  const std::lock_guard lock(mutex_);
  estimate_.measured(estimated_us, actual);
}

Duration Workload::backlog() const {
  const std::lock_guard lock(mutex_);
  return std::chrono::duration_cast<Duration>(estimate_.backlog() * with_waiting_);
}

void Workload::set_waiting(std::size_t waiting, std::size_t read) {
  const std::lock_guard lock(mutex_);
  with_waiting_ = 1 + static_cast<double>(waiting) / static_cast<double>(std::max<std::size_t>(read, 1));
}

Duration Workload::wait(ModelId model) const {
  const std::lock_guard lock(mutex_);
  return estimate_.wait(model);
}

Status in_time(const Forecast& forecast) {
  if (forecast.kind == Forecast::Kind::kNever) {
    return fail(
        ErrorCode::kDeadlineExceeded,
        "the request runs for longer than its deadline allows, even alone; allow more time or send less");
  }
  if (forecast.kind == Forecast::Kind::kTooMuchAhead) {
    return fail(ErrorCode::kOverloaded,
                "what was accepted before would make this request miss its deadline; wait and try again");
  }
  return {};
}

}  // namespace volvox
