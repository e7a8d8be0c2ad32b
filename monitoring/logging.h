#pragma once

#include "config/schema.h"

namespace volvox {

// The process's log, on standard error: a line of text for people, or a line of JSON for programs, with the
// keys "time" (UTC, microseconds), "level" and "message". Call before the first thread.
void start_logging(LogFormat format, LogLevel level);

// Any time, any thread.
void set_log_level(LogLevel level);
LogLevel log_level();

}  // namespace volvox
