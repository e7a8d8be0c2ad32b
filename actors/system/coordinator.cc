#include "actors/system/coordinator.h"

#include <utility>

#include "actors/system/system_config.h"

namespace volvox {

void load_coordinator(caf::actor_system_config& config) {
  config.load<Coordinator>();
}

void QuietClock::note(caf::abstract_actor* self) {
  const std::lock_guard lock(mutex_);
  waiting_.insert(self);
}

void QuietClock::set_ordinary_timeout(time_point at, caf::abstract_actor* self, caf::atom_value type,
                                      std::uint64_t id) {
  note(self);
  clock_.set_ordinary_timeout(at, self, type, id);
}

void QuietClock::set_request_timeout(time_point at, caf::abstract_actor* self, caf::message_id id) {
  note(self);
  clock_.set_request_timeout(at, self, id);
}

void QuietClock::set_multi_timeout(time_point at, caf::abstract_actor* self, caf::atom_value type,
                                   std::uint64_t id) {
  note(self);
  clock_.set_multi_timeout(at, self, type, id);
}

void QuietClock::cancel_ordinary_timeout(caf::abstract_actor* self, caf::atom_value type) {
  clock_.cancel_ordinary_timeout(self, type);
}

void QuietClock::cancel_request_timeout(caf::abstract_actor* self, caf::message_id id) {
  clock_.cancel_request_timeout(self, id);
}

void QuietClock::cancel_timeouts(caf::abstract_actor* self) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.erase(self) == 0) return;
  }
  ++ends_;
  clock_.cancel_timeouts(self);
}

void QuietClock::schedule_message(time_point at, caf::strong_actor_ptr receiver,
                                  caf::mailbox_element_ptr content) {
  clock_.schedule_message(at, std::move(receiver), std::move(content));
}

void QuietClock::schedule_message(time_point at, caf::group target, caf::strong_actor_ptr sender,
                                  caf::message content) {
  clock_.schedule_message(at, std::move(target), std::move(sender), std::move(content));
}

void QuietClock::cancel_all() {
  clock_.cancel_all();
}

}  // namespace volvox
