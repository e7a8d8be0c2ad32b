#include "monitoring/metrics/trace_metrics.h"

#include "monitoring/metrics/single_metrics.h"

namespace volvox {

TraceMetrics::TraceMetrics(prometheus::Registry& registry)
    : lost_(single_counter(registry, "volvox_trace_records_lost_total",
                           "Requests and tasks that are missing in a trace that `volvox trace` took: raise "
                           "tracing.capture_mib, or trace for a shorter time.")),
      not_followed_(single_counter(registry, "volvox_trace_not_followed_total",
                                   "Requests that were not traced though their callers trace them: "
                                   "tracing.max_sampled_per_second.")),
      waiting_(single_gauge(registry, "volvox_trace_waiting",
                            "Traced requests that wait to be sent, of tracing.export_queue.")) {
  auto& family =
      prometheus::BuildCounter()
          .Name("volvox_trace_spans_total")
          .Help(
              "Spans of traced requests by what became of them: sent to tracing.collector; lost, because "
              "tracing.export_queue was full or the collector did not answer; or refused by it.")
          .Register(registry);
  constexpr std::array<const char*, kExportOutcomes> kNames{"sent", "no_room", "unreachable", "refused"};
  for (std::size_t i = 0; i < kExportOutcomes; ++i) exported_[i] = &family.Add({{"outcome", kNames[i]}});
}

}  // namespace volvox
