#include "actors/workload.h"

#include <utility>

namespace volvox {

WorkPlace::WorkPlace(std::shared_ptr<Workload> workload, const ExpectedWork& work)
    : workload_(std::move(workload)) {
  const std::lock_guard lock(workload_->mutex_);
  work_ = workload_->estimate_.completed(work);
  workload_->estimate_.enter(work_);
}

WorkPlace::~WorkPlace() {
  const std::lock_guard lock(workload_->mutex_);
  workload_->estimate_.leave(work_);
}

Forecast WorkPlace::correct(std::uint32_t steps, Duration time_left) {
  const std::lock_guard lock(workload_->mutex_);
  if (steps == work_.steps) return {};
  ServiceEstimate& estimate = workload_->estimate_;
  estimate.leave(work_);
  work_.steps = steps;
  const Forecast forecast = estimate.forecast(work_, time_left);
  estimate.enter(work_);
  return forecast;
}

void Workload::set_model(ModelId model, const ModelCost& cost) {
  const std::lock_guard lock(mutex_);
  estimate_.set_model(model, cost);
}

Forecast Workload::forecast(const ExpectedWork& work, Duration time_left) const {
  const std::lock_guard lock(mutex_);
  return estimate_.forecast(estimate_.completed(work), time_left);
}

void Workload::measured(double estimated_us, Duration actual) {
  const std::lock_guard lock(mutex_);
  estimate_.measured(estimated_us, actual);
}

Duration Workload::backlog() const {
  const std::lock_guard lock(mutex_);
  return estimate_.backlog();
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
