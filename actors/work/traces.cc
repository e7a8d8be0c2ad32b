#include "actors/work/traces.h"

#include <atomic>
#include <chrono>
#include <string>
#include <utility>

#include <unistd.h>

#include "base/random_number.h"
#include "monitoring/spans/collector.h"
#include "monitoring/spans/span_exporter.h"

namespace volvox {

namespace {

std::shared_ptr<SpanExporter> make_exporter(const ServeConfig& config, Monitor& monitor) {
  const TracingSection& section = config.tracing;
  using Milliseconds = std::chrono::milliseconds;
  ExporterOptions options;
  options.source = {config.server.name, monitor.version(), static_cast<std::uint64_t>(::getpid())};
  options.queue = section.export_queue;
  options.batch = section.export_batch;
  options.interval = Milliseconds(section.export_interval_ms);
  options.attempts = section.export_attempts;
  auto collector = std::make_shared<Collector>(section.collector, Milliseconds(section.export_timeout_ms));
  return std::make_shared<SpanExporter>(std::move(options), monitor.traces(),
                                        [collector](const std::string& body, const std::atomic<bool>& hurry) {
                                          return collector->send(body, hurry);
                                        });
}

}  // namespace

std::shared_ptr<TraceRecorder> make_recorder(const ServeConfig& config, Monitor& monitor) {
  TraceMetrics& metrics = monitor.traces();
  RecorderOptions options;
  options.capture_bytes = std::size_t{config.tracing.capture_mib} << 20;
  options.seed = random_bits().value_or(0);
  options.on_lost = [&metrics](std::uint64_t records) { metrics.lost(records); };
  options.sampling = {config.tracing.rate, config.tracing.max_sampled_per_second,
                      [&metrics] { metrics.not_followed(); }};
  if (!config.tracing.collector.empty()) {
    options.on_sampled = [exporter = make_exporter(config, monitor)](RequestSpan&& span) {
      exporter->put(std::move(span));
    };
  }
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

LogSubject subject_of(const IncomingRequest& request) {
  const TraceContext context = request.trace ? request.trace->child_context() : trace_context(request.header);
  return {request.header.request_id, context.trace};
}

}  // namespace volvox
