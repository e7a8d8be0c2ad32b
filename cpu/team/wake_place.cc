#include "cpu/team/wake_place.h"

#include "base/spin.h"

namespace volvox::cpu {

void WakePlace::is_awake() {
  State state = State::kAsleep;
  if (state_.compare_exchange_strong(state, State::kAwake)) return;
  while (state == State::kChanging) {  // a few microseconds
    pause();
    state = state_.load();
  }
  if (state == State::kElsewhere) pthread_setaffinity_np(pthread_self(), sizeof allowed_, &allowed_);
  state_.store(State::kAwake);
}

void WakePlace::keep_away_from_here(pthread_t helper) {
  State state = State::kAsleep;
  if (!state_.compare_exchange_strong(state, State::kChanging)) return;
  State next = State::kAsleep;
  const int here = sched_getcpu();
  if (here >= 0 && pthread_getaffinity_np(helper, sizeof allowed_, &allowed_) == 0) {
    cpu_set_t others = allowed_;
    CPU_CLR(static_cast<std::size_t>(here), &others);
    if (CPU_COUNT(&others) > 0 && pthread_setaffinity_np(helper, sizeof others, &others) == 0)
      next = State::kElsewhere;
  }
  state_.store(next);
}

}  // namespace volvox::cpu
