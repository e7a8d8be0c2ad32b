#pragma once

#include <cstddef>
#include <utility>

#include <caf/event_based_actor.hpp>

#include "base/thread_sanitizer.h"

#if VOLVOX_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace volvox {

// Actors may run on any thread, and what a message points to passes from one to another with it. CAF orders
// that, but ThreadSanitizer does not see it, because CAF's library is built without it: everything that an
// actor reads of a message would look like a race. Whoever sends calls hand_over() before, whoever receives
// calls take_over() first. Without ThreadSanitizer both are nothing.
#if VOLVOX_THREAD_SANITIZER
inline char handoff_mark = 0;  // stands for all mailboxes
inline void hand_over() {
  __tsan_release(&handoff_mark);
}
inline void take_over() {
  __tsan_acquire(&handoff_mark);
}
#else
inline void hand_over() {}
inline void take_over() {}
#endif

// What CAF itself reads of a message is handed over with it, too: one at a time, as what comes while an actor
// runs is taken over when it runs again. Else ThreadSanitizer finds thousands of races a second in CAF's
// mailboxes, and looks each up to suppress it (tests/tsan.supp), which holds up the whole process.
#if VOLVOX_THREAD_SANITIZER
class HandingActor : public caf::event_based_actor {
 public:
  using caf::event_based_actor::enqueue;
  using caf::event_based_actor::event_based_actor;

  void enqueue(caf::mailbox_element_ptr message, caf::execution_unit* unit) override {
    hand_over();
    caf::event_based_actor::enqueue(std::move(message), unit);
  }
  resume_result resume(caf::execution_unit* unit, std::size_t) override {
    take_over();
    return caf::event_based_actor::resume(unit, 1);
  }
};
#else
using HandingActor = caf::event_based_actor;
#endif

}  // namespace volvox
