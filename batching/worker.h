#pragma once

#include <cstdint>
#include <vector>

#include "batching/lanes/cohort.h"
#include "batching/task_log.h"

namespace volvox {

// What the scheduler knows of one worker.
struct Worker {
  TaskLog log;
  std::vector<Cohort> cohorts;    // by type
  std::uint32_t cohort_rows = 0;  // in all of them
  bool suspended = false;         // gets no tasks
};

}  // namespace volvox
