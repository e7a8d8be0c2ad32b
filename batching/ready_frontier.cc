#include "batching/ready_frontier.h"

namespace volvox {

void ReadyFrontier::ready_types(WorkerId worker, std::vector<ReadyType>& types) const {
  types.clear();
  const Worker& of = workers_[worker];
  TypeSet::for_each(
      of.cohort_types, queues_.types_at(worker), queues_.types_at(queues_.any()), [&](CellTypeId type) {
        ReadyType& found = types.emplace_back();
        found.type = type;
        for (std::size_t c = 0; c < kPriorityClasses; ++c) {
          const auto priority = static_cast<PriorityClass>(c);
          found.by_class[c] = of.cohorts[type].active(priority) + queues_.count_for(type, worker, priority);
          found.rows += found.by_class[c];
        }
      });
}

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
