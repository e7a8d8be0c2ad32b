#pragma once

#include <memory>

#include "config/schema.h"
#include "monitoring/monitor.h"
#include "protocol/messages.h"
#include "tracing/recorder.h"

namespace volvox {

// A process's recorder, as it is configured, and what sends its samples to the collector. The monitor
// outlives it.
std::shared_ptr<TraceRecorder> make_recorder(const ServeConfig& config, Monitor& monitor);

// The trace that a request's header names.
TraceContext trace_context(const RequestHeader& header);
void set_trace_context(RequestHeader& header, const TraceContext& context);

}  // namespace volvox
