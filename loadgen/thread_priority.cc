#include "loadgen/thread_priority.h"

#include <sys/prctl.h>
#include <sys/resource.h>

namespace volvox {

// On Linux priority 0 of "this process" means the calling thread, and new threads inherit it.
void prefer_this_thread() {
  setpriority(PRIO_PROCESS, 0, -10);
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
}

void unprefer_this_thread() {
  setpriority(PRIO_PROCESS, 0, 0);
}

}  // namespace volvox
