#pragma once

#include <cstdint>

namespace volvox::bench {

// CPU time outside kernels by requests completed, and by whose it was.
struct HostTime {
  double engine_us = 0;   // the engine's own thread, at work
  double waiting_us = 0;  // the same, waiting for queues or for requests
  double making_us = 0;   // who makes requests: staging, memory for results, unfolding
  double others_us = 0;   // queues' threads, and the driver's
};

// What one configuration did under one load.
struct EngineResult {
  double offered_rps = 0;  // arrivals in the window; 0 under backlog
  double throughput_rps = 0;
  double p50_ms = 0, p90_ms = 0, p99_ms = 0, max_ms = 0;
  double late_fraction = 0;  // of the frames of calls: not done within a period after they were due
  double mean_batch = 0;     // real rows in a task of the core type
  double useful_gflops = 0, executed_gflops = 0;
  double rows_moved_ratio = 0;  // rows moved within cohorts, by rows executed
  double host_ns_per_cell = 0;  // CPU time of the process outside kernels, by steps executed
  double cpu_share = 0;         // CPU time of the process, by that of one core
  HostTime host;
  double seconds = 0;           // of the window
  std::uint64_t completed = 0;  // in the window
  std::uint64_t failed = 0, refused = 0, unfinished = 0, mismatched = 0;
};

}  // namespace volvox::bench
