#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <caf/actor.hpp>

namespace volvox {

// The actor that plays a part at the moment; the supervisor replaces it when it fails. Any thread.
class ActorSlot {
 public:
  void set(caf::actor actor) {
    const std::lock_guard lock(mutex_);
    actor_.swap(actor);
  }
  caf::actor get() const {
    const std::lock_guard lock(mutex_);
    return actor_;
  }

 private:
  mutable std::mutex mutex_;
  caf::actor actor_;
};

// The schedulers of the moment, by the device's number.
using SchedulerSlots = std::vector<std::shared_ptr<ActorSlot>>;

inline SchedulerSlots actor_slots(std::size_t count) {
  SchedulerSlots slots(count);
  for (auto& slot : slots) slot = std::make_shared<ActorSlot>();
  return slots;
}

}  // namespace volvox
