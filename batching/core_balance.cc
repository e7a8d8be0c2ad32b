#include <algorithm>

#include "batching/core.h"

namespace volvox {

// An idle worker takes what another has queued but not begun to run again; if that is nothing and the other
// has more than two tasks' worth, its youngest requests run out there and move (DESIGN §3.3). Workers of one
// scheduler share a device's memory, so moving costs nothing but the rows' new bindings.

std::uint32_t Scheduler::Core::backlog(WorkerId worker) const {
  return workers_[worker].cohort_rows + queues_.count_at(worker);
}

bool Scheduler::Core::balance(WorkerId worker) {
  WorkerId busiest = kNoWorker;
  for (WorkerId w = 0; w < workers_.size(); ++w) {
    if (w != worker && (busiest == kNoWorker || backlog(w) > backlog(busiest))) busiest = w;
  }
  if (busiest == kNoWorker || backlog(busiest) == 0) return false;
  const std::uint32_t queued = queues_.count_at(busiest);
  if (queued > 0 && steal_unpinned(busiest, worker, std::max(1U, queued / 2)) > 0) return true;
  std::uint32_t task = 1;
  for (const TypeConfig& type : config_.types) {
    task = std::max(task, max_batch(type, config_.worker_batches, busiest));
  }
  if (backlog(busiest) > 2 * task) drain_youngest(busiest, std::min(task, backlog(busiest) / 2));
  return anything_ready(worker);  // what was drained and did not run may move at once
}

std::uint32_t Scheduler::Core::steal_unpinned(WorkerId from, WorkerId to, std::uint32_t at_most) {
  constexpr int kLooks = 64;  // queued entries of pinned requests cannot move; do not walk them all
  std::uint32_t taken = 0;
  int looks = 0;
  for (CellTypeId type = 0; type < config_.types.size(); ++type) {
    for (std::size_t c = kPriorityClasses; c-- > 0;) {
      for (EntryId id = queues_.last_at(type, from, PriorityClass(c)); id != kNoEntry;) {
        const ReadyQueues::Entry entry = queues_[id];
        id = entry.prev;
        if (++looks > kLooks || taken >= at_most) return taken;
        const LiveRequest& live = requests_[entry.request];
        if (live.fixed || in_flight_request(live)) continue;
        taken += entry.ready;
        set_home(entry.request, to);
        // Other entries of the request moved along: start again from the end.
        id = queues_.last_at(type, from, PriorityClass(c));
      }
    }
  }
  return taken;
}

void Scheduler::Core::drain_youngest(WorkerId from, std::uint32_t rows) {
  for (Cohort& cohort : workers_[from].cohorts) {
    for (std::size_t row = cohort.rows().size(); rows > 0 && row-- > 0;) {
      const LaneRef ref = cohort.rows()[row];
      if (ref == kNoLane) continue;
      LiveRequest& live = requests_[request_of(ref)];
      if (live.draining || live.fixed) continue;
      live.draining = true;
      for (LaneId l = 0; l < lane_count(live); ++l) {
        LaneRun& run = live.lanes[l];
        if (run.state == LaneRun::State::kCohort) leave_cohort(lane_ref(request_of(ref), l));
        if (run.state != LaneRun::State::kQueued) continue;
        queues_.erase(run.entry);
        run.entry = kNoEntry;
        run.state = LaneRun::State::kBlocked;
      }
      if (!in_flight_request(live)) let_go(request_of(ref));
      --rows;
    }
  }
}

}  // namespace volvox
