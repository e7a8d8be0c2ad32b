#pragma once

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

}  // namespace volvox
