#include "loadgen/run/thread_priority.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>

namespace volvox {

void prefer_this_thread() {
  const sched_param lowest{.sched_priority = 1};
  if (pthread_setschedparam(pthread_self(), SCHED_RR, &lowest) != 0) {
    // On Linux priority 0 of "this process" means the calling thread.
    setpriority(PRIO_PROCESS, 0, -10);
  }
  wake_on_time();
}

void wake_on_time() {
  constexpr unsigned long kSlackNs = 1000;
  prctl(PR_SET_TIMERSLACK, kSlackNs, 0UL, 0UL, 0UL);
}

void unprefer_this_thread() {
  const sched_param none{.sched_priority = 0};
  pthread_setschedparam(pthread_self(), SCHED_OTHER, &none);
  setpriority(PRIO_PROCESS, 0, 0);
}

}  // namespace volvox
