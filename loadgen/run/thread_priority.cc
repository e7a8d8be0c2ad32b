#include "loadgen/run/thread_priority.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>

namespace volvox {

// On Linux priority 0 of "this process" means the calling thread.

void prefer_this_thread() {
  const sched_param lowest{.sched_priority = 1};
  if (pthread_setschedparam(pthread_self(), SCHED_RR, &lowest) != 0) {
    setpriority(PRIO_PROCESS, 0, -10);
  }
  wake_on_time();
}

void wake_on_time() {
  constexpr unsigned long kSlackNs = 1000;
  prctl(PR_SET_TIMERSLACK, kSlackNs, 0UL, 0UL, 0UL);
}

void keep_processor() {
  setpriority(PRIO_PROCESS, 0, -5);
}

void unprefer_this_thread() {
  const sched_param none{.sched_priority = 0};
  pthread_setschedparam(pthread_self(), SCHED_OTHER, &none);
  setpriority(PRIO_PROCESS, 0, 0);
}

}  // namespace volvox
