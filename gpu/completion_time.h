#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"

namespace volvox::gpu {

// A way for the host to learn that a task is done, and what it costs.
struct CompletionTime {
  std::string_view way;      // "word" in memory of the host, "event", "host function"
  double round_trip_us = 0;  // a task alone, from its launch until the host knows: median
  double per_task_us = 0;    // tasks one behind the other, eight under way: what each took
};

// Measures all of them on this GPU with tasks that last `task` and do nothing (BatchMaker §5 has a kernel of
// its own that signals; here it is the task's last one). Takes less than a second for tasks of 20 us.
Result<std::vector<CompletionTime>> completion_times(int gpu, Duration task);

}  // namespace volvox::gpu
