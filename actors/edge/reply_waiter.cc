#include "actors/edge/reply_waiter.h"

#include <utility>

#include "actors/system/insist.h"

namespace volvox {

void ReplyWaiter::answer(const IncomingRequest&, const Outcome& outcome) {
  Outcome kept = insist([&] { return outcome; });  // before the lock: it may have to wait for memory
  {
    const std::lock_guard lock(mutex_);
    outcome_ = std::move(kept);
  }
  answered_.notify_one();
}

std::optional<Outcome> ReplyWaiter::wait_for(Duration at_most) {
  std::unique_lock lock(mutex_);
  answered_.wait_for(lock, at_most, [this] { return outcome_.has_value(); });
  return std::exchange(outcome_, std::nullopt);
}

}  // namespace volvox
