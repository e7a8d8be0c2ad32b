#include "batching/core.h"

namespace volvox {

// A worker whose task does not end. Whatever that task may still read or write stays as it is: the requests
// with a row in flight are as good as failed, but keep their slots until the worker says how its tasks ended.
// All others leave, for another worker or to wait.
void Scheduler::Core::suspend(WorkerId worker, TimePoint now, std::vector<Event>& out) {
  now_ = now;
  Worker& stuck = workers_[worker];
  if (stuck.suspended || stuck.log.in_flight() == 0) return;
  stuck.suspended = true;
  std::vector<std::uint32_t> in_flight;
  collect_failed(worker, stuck.log.completed() + 1, in_flight);
  for (std::uint32_t index : in_flight) {
    LiveRequest& live = requests_[index];
    if (live.state != LiveRequest::State::kRunning || live.outcome != LiveRequest::Outcome::kNone) continue;
    live.outcome = LiveRequest::Outcome::kFailed;
    out.push_back(event_for(index, Event::Kind::kStuck));
    withdraw(index);
  }
  empty_cohorts(stuck);
  for (std::uint32_t index = 0; index < requests_.size(); ++index) {
    LiveRequest& live = requests_[index];
    const bool here = live.state == LiveRequest::State::kRunning && live.home == worker && !live.fixed;
    if (!here || live.outcome != LiveRequest::Outcome::kNone) continue;
    live.draining = false;
    set_home(index, kNoWorker);
    if (!live.is_graph) wake_others(index);
  }
}

// The device's row tables are gone, or will be: whoever is left joins again.
void Scheduler::Core::empty_cohorts(Worker& worker) {
  for (Cohort& cohort : worker.cohorts) {
    const std::vector<LaneRef> rows = cohort.rows();
    for (LaneRef ref : rows) {
      if (ref != kNoLane) park(ref, false);
    }
  }
}

}  // namespace volvox
