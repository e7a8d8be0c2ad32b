#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/time.h"
#include "config/schema.h"
#include "monitoring/log/log_subject.h"

namespace volvox {

// The process's log, on standard error: a line of text for people, or a line of JSON for programs, with the
// keys "time" (UTC, microseconds), "level" and "message". Who logs never waits for who reads: at most `lines`
// wait to be written (monitoring/log/log_pump.h). Call before other threads log.
void start_logging(LogFormat format, LogLevel level, std::size_t lines = 8192, int fd = 2);

// A line about one request. It says which: under the keys "request" and "trace_id" in JSON, at its end in
// text. Any thread.
void log_about(const LogSubject& subject, LogLevel level, std::string_view message);

// For whoever is about to leave the process: waits until the log is written. False: it took too long.
bool flush_log(Duration at_most);
// Lines that were lost because nobody read the log. Any thread.
std::uint64_t log_lines_dropped();

// Any time, any thread.
void set_log_level(LogLevel level);
LogLevel log_level();

}  // namespace volvox
