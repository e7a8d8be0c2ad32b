#pragma once

#include <cstdint>

#include "tracing/trace_context.h"

namespace volvox {

// Which request a line of the log is about, as far as that is known.
struct LogSubject {
  std::uint64_t request = 0;  // the number that its client gave it; 0: none
  TraceId trace{};
};

}  // namespace volvox
