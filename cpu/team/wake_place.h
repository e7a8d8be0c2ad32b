#pragma once

#include <atomic>

#include <pthread.h>
#include <sched.h>

namespace volvox::cpu {

// Problem: a helper that slept is woken by a thread that goes on computing. In a virtual machine the kernel
// often lets it wait for that thread's own core, while another one is idle: a core that has gone back to the
// hypervisor does not count as free there. The step then takes twice its time, until the load is balanced
// some milliseconds later.
// Tool: the helper is told to wake elsewhere. Whoever wakes it takes its own core out of those that the
// sleeper may run on, and the helper, once awake, takes it back: it is nobody's rule where threads run while
// they compute.
// Threads: one helper, and one thread at a time that wakes it.
class WakePlace {
 public:
  // The helper, before it looks a last time whether it must sleep, and when it has woken, whatever woke it.
  void sleeps() { state_.store(State::kAsleep); }
  void is_awake();

  // Before the helper is woken: not on the calling thread's core, if it may run on another. Nothing, where
  // it does not sleep or the system does not allow it.
  void keep_away_from_here(pthread_t helper);

 private:
  enum class State { kAwake, kAsleep, kChanging, kElsewhere };
  std::atomic<State> state_{State::kAwake};
  cpu_set_t allowed_{};  // what the helper may run on otherwise; of kElsewhere
};

}  // namespace volvox::cpu
