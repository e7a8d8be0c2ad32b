#pragma once

#include <cstdint>
#include <memory>

#include "base/error.h"
#include "batching/policy/policy.h"

namespace volvox {

// Cellular batching: Algorithm 1 of BatchMaker (§4.3) with DESIGN §3.3's rules.
std::unique_ptr<Policy> make_cellular_policy(const SchedulerConfig& config);

struct PaddedOptions {
  std::uint32_t bucket_width = 10;  // lengths (i·w, (i+1)·w] share a bucket and are padded to (i+1)·w
  std::uint32_t max_batch = 64;     // requests that run together
};

// The baseline that today's servers use: whole requests of similar length, padded, run together from the
// first step to the last (BatchMaker §7.1): round-robin over the buckets, and an idle worker never waits.
std::unique_ptr<Policy> make_padded_policy(const SchedulerConfig& config, const PaddedOptions& options);

}  // namespace volvox
