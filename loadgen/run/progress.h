#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "loadgen/run/tally.h"

namespace volvox {

// A running load's last interval.
struct ProgressReading {
  double at_s = 0;  // since the start, warm-up included
  bool warming_up = false;
  std::uint64_t offered = 0, completed = 0, failed = 0;  // since the start
  double rate = 0;                                       // answers a second in the interval
  double mean_latency_ms = 0;                            // of the answers in the interval; 0 without any
  double worst_late_ms = 0;                              // of the requests sent in the interval
};

// Turns counters that only grow into readings of intervals. One thread at a time.
class ProgressMeter {
 public:
  explicit ProgressMeter(LoadProgress& progress) : progress_(progress) {}

  // The interval since the last call (at first: since the start) up to `at` after the start. Resets the worst
  // lateness.
  ProgressReading read(Duration at);

 private:
  LoadProgress& progress_;
  Duration last_at_{};
  std::uint64_t last_completed_ = 0, last_latency_ns_ = 0;
};

// One line without a line end, for people.
std::string progress_line(const ProgressReading& reading);

}  // namespace volvox
