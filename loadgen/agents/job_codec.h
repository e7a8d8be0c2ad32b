#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "loadgen/agents/load_messages.h"
#include "protocol/limits.h"
#include "protocol/load.capnp.h"

namespace volvox {

// Times that strangers name, in nanoseconds, stay where the arithmetic of time does: below nine years.
inline bool is_span(std::int64_t ns) {
  return ns >= 0 && ns <= (std::int64_t{1} << 58);
}

// The job's part of load_codec.h.
std::size_t job_words(const LoadJob& job);
void write_job(const LoadJob& job, wire::LoadJob::Builder builder);
Result<LoadMessage> read_job(wire::LoadJob::Reader reader, const WireLimits& limits);

}  // namespace volvox
