#include "actors/work/traces.h"

#include <utility>

#include "actors/system/random_number.h"

namespace volvox {

std::shared_ptr<TraceRecorder> make_recorder(const TracingSection& section, TraceMetrics& metrics) {
  RecorderOptions options;
  options.capture_bytes = std::size_t{section.capture_mib} << 20;
  options.seed = random_bits().value_or(0);
  options.on_lost = [&metrics](std::uint64_t records) { metrics.lost(records); };
  return std::make_shared<TraceRecorder>(std::move(options));
}

TraceContext trace_context(const RequestHeader& header) {
  return {{header.trace_hi, header.trace_lo}, header.parent_span, header.trace_sampled};
}

void set_trace_context(RequestHeader& header, const TraceContext& context) {
  header.trace_hi = context.trace.hi;
  header.trace_lo = context.trace.lo;
  header.parent_span = context.parent;
  header.trace_sampled = context.sampled;
}

}  // namespace volvox
