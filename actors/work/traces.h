#pragma once

#include <memory>

#include "actors/work/work.h"
#include "config/schema.h"
#include "monitoring/log/log_subject.h"
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

// For lines of the log about this request: its trace is the one that this process records, or else its
// caller's.
LogSubject subject_of(const IncomingRequest& request);

}  // namespace volvox
