#include "batching/ready_frontier.h"

namespace volvox {

void ReadyFrontier::ready_types(WorkerId worker, std::vector<ReadyType>& types) const {
  types.clear();
  const Worker& of = workers_[worker];
  TypeSet::for_each(of.cohort_types, queues_.types_at(worker), queues_.types_at(queues_.any()),
                    [&](CellTypeId type) {
                      const Cohort& cohort = of.cohorts[type];
                      ReadyType& found = types.emplace_back();
                      found.type = type;
                      found.by_class = queues_.classes_for(type, worker);
                      for (std::size_t c = 0; c < kPriorityClasses; ++c) {
                        found.by_class[c] += cohort.active(static_cast<PriorityClass>(c));
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
