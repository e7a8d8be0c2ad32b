#include "batching/ready_frontier.h"

namespace volvox {

std::optional<TimePoint> ReadyFrontier::waiting_since(CellTypeId type, WorkerId worker) const {
  std::optional<TimePoint> oldest;
  const Cohort& cohort = workers_[worker].cohorts[type];
  if (cohort.active() > 0) oldest = cohort.last_formed;
  for (WorkerId place : {worker, queues_.any()}) {
    for (std::size_t c = 0; c < kPriorityClasses; ++c) {
      const EntryId id = queues_.first_at(type, place, PriorityClass(c));
      if (id != kNoEntry && (!oldest || queues_[id].since < *oldest)) oldest = queues_[id].since;
    }
  }
  return oldest;
}

}  // namespace volvox
