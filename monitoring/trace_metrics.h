#pragma once

#include <cstdint>

#include <prometheus/counter.h>
#include <prometheus/registry.h>

#include "monitoring/single_metrics.h"

namespace volvox {

// What is counted of traces. All calls from any thread.
class TraceMetrics {
 public:
  explicit TraceMetrics(prometheus::Registry& registry)
      : lost_(single_counter(registry, "volvox_trace_records_lost_total",
                             "Requests and tasks that found no room in the trace that was taken.")) {}

  void lost(std::uint64_t records) { lost_.Increment(static_cast<double>(records)); }

 private:
  prometheus::Counter& lost_;
};

}  // namespace volvox
