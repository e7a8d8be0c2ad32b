#pragma once

#include <cstddef>

#include "base/error.h"
#include "loadgen/agents/load_messages.h"
#include "protocol/limits.h"
#include "protocol/load.capnp.h"

namespace volvox {

// The job's part of load_codec.h.
std::size_t job_words(const LoadJob& job);
void write_job(const LoadJob& job, wire::LoadJob::Builder builder);
Result<LoadMessage> read_job(wire::LoadJob::Reader reader, const WireLimits& limits);

}  // namespace volvox
