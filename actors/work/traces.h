#pragma once

#include <memory>

#include "config/schema.h"
#include "monitoring/trace_metrics.h"
#include "protocol/messages.h"
#include "tracing/recorder.h"

namespace volvox {

// A process's recorder, as it is configured. The metrics outlive it.
std::shared_ptr<TraceRecorder> make_recorder(const TracingSection& section, TraceMetrics& metrics);

// The trace that a request's header names.
TraceContext trace_context(const RequestHeader& header);
void set_trace_context(RequestHeader& header, const TraceContext& context);

}  // namespace volvox
