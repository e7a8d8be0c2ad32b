#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "loadgen/agents/load_messages.h"

namespace volvox {

// What an agent lets itself be used for, whoever asks: its own word, so that no coordinator makes a flood of
// it.
struct AgentLimits {
  std::vector<std::string> targets{};  // servers that may be put under load: "tcp://10.0.0.1:7100", or any
                                       // port of a host: "tcp://10.0.0.1:*"
  double highest_rate = 10'000;        // requests a second, over all connections
  std::uint32_t connections = 64;      // at once
  std::uint32_t in_flight = 4096;      // of a closed loop
  Duration longest = std::chrono::hours(1);     // from the first request to the last
  Duration patience = std::chrono::seconds(5);  // without a word of the coordinator; then the load is stopped
};

// Says what makes no sense, as INVALID_ARGUMENT.
Status check_limits(const AgentLimits& limits);

// Whether a job stays within the limits: PERMISSION_DENIED names the one that it does not. And sets the rate
// that none of its connections may exceed.
Status admit_job(LoadJob& job, const AgentLimits& limits);

// How long a job that was admitted may run until it is cut: where its plan says when it ends, until its last
// answers have come, too.
Duration longest_run(const LoadJob& job, const AgentLimits& limits);

}  // namespace volvox
