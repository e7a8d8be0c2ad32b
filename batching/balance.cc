#include "batching/balance.h"

#include <algorithm>

namespace volvox {

bool Balance::help(WorkerId idle) {
  WorkerId busiest = kNoWorker;
  for (WorkerId w = 0; w < workers_.size(); ++w) {
    if (w != idle && (busiest == kNoWorker || frontier_.backlog(w) > frontier_.backlog(busiest))) busiest = w;
  }
  if (busiest == kNoWorker || frontier_.backlog(busiest) == 0) return false;
  const std::uint32_t queued = queues_.count_at(busiest);
  if (queued > 0 && steal_unpinned(busiest, idle, std::max(1U, queued / 2)) > 0) return true;
  std::uint32_t task = 1;
  for (const TypeConfig& type : config_.types) {
    task = std::max(task, max_batch(type, config_.worker_batches, busiest));
  }
  const std::uint32_t backlog = frontier_.backlog(busiest);
  if (backlog > 2 * task) drain_some(busiest, std::min(task, backlog / 2));
  return frontier_.anything_ready(idle);  // what was drained and did not run may move at once
}

std::uint32_t Balance::steal_unpinned(WorkerId from, WorkerId to, std::uint32_t at_most) {
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
        if (live.fixed || pins_.in_flight(live)) continue;
        taken += entry.ready;
        pins_.move(entry.request, to);
        // Other entries of the request moved along: start again from the end.
        id = queues_.last_at(type, from, PriorityClass(c));
      }
    }
  }
  return taken;
}

// From the ends of the cohorts, which is where they shrink without moving rows.
void Balance::drain_some(WorkerId from, std::uint32_t rows) {
  for (Cohort& cohort : workers_[from].cohorts) {
    for (std::size_t row = cohort.rows().size(); rows > 0 && row-- > 0;) {
      const LaneRef ref = cohort.rows()[row];
      if (ref == kNoLane) continue;
      const LiveRequest& live = requests_[request_of(ref)];
      if (live.draining || live.fixed) continue;
      lanes_.drain(request_of(ref));
      --rows;
    }
  }
}

}  // namespace volvox
