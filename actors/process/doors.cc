#include "actors/process/doors.h"

#include <chrono>
#include <utility>

#include "base/clock.h"

namespace volvox {
namespace {

// For requests that were told to end.
constexpr Duration kClosePatience = std::chrono::seconds(1);

}  // namespace

void Doors::add(std::shared_ptr<Gateway> gateway) {
  const std::lock_guard lock(mutex_);
  gateway_ = std::move(gateway);
}

void Doors::add(std::unique_ptr<HttpFront> front) {
  const std::lock_guard lock(mutex_);
  front_ = std::move(front);
}

bool Doors::wait_until_answered(Duration timeout) {
  const TimePoint until = later(steady_now(), timeout);
  const bool gateway = gateway_->wait_until_answered(timeout);
  return (!front_ || front_->wait_until_answered(until - steady_now())) && gateway;
}

void Doors::abort_requests() {
  gateway_->abort_requests();
  if (front_) front_->abort_requests();
  wait_until_answered(kClosePatience);
}

void Doors::close(Duration patience) {
  const TimePoint until = later(steady_now(), patience);
  std::shared_ptr<HttpFront> front;
  std::shared_ptr<Gateway> gateway;
  if (front_) front_->stop();
  gateway_->stop(until - steady_now());
  const std::lock_guard lock(mutex_);  // before what it swaps out goes
  left_ = count();
  front.swap(front_);
  gateway.swap(gateway_);
}

std::size_t Doors::unanswered() const {
  const std::lock_guard lock(mutex_);
  return left_ + count();
}

std::size_t Doors::count() const {
  return (gateway_ ? gateway_->unanswered() : 0) + (front_ ? front_->unanswered() : 0);
}

}  // namespace volvox
