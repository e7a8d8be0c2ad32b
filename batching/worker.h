#pragma once

#include <cstdint>
#include <vector>

#include "batching/lanes/cohort.h"
#include "batching/task_log.h"
#include "batching/type_set.h"

namespace volvox {

// What the scheduler knows of one worker.
struct Worker {
  Worker(WorkerId number, std::uint32_t tasks_at_once, std::size_t types)
      : log(number, tasks_at_once), cohorts(types) {}

  TaskLog log;
  std::vector<Cohort> cohorts;    // by type
  std::uint32_t cohort_rows = 0;  // lanes in all of them
  TypeSet cohort_types;           // of those that have lanes
  bool suspended = false;         // gets no tasks

  // Returns the lane's row in the type's cohort.
  std::uint32_t join(CellTypeId type, LaneRef lane, PriorityClass priority) {
    Cohort& cohort = cohorts[type];
    if (cohort.active() == 0) cohort_types.insert(type);
    ++cohort_rows;
    return cohort.join(lane, priority);
  }
  void leave(CellTypeId type, std::uint32_t row, PriorityClass priority) {
    cohorts[type].leave(row, priority);
    if (cohorts[type].active() == 0) cohort_types.erase(type);
    --cohort_rows;
  }
};

}  // namespace volvox
