#pragma once

#include <cstdint>
#include <memory>

#include "base/error.h"
#include "batching/policy/policy.h"

namespace volvox {

// Cellular batching: Algorithm 1 of BatchMaker (§4.3) with the rules of docs/architecture.md.
std::unique_ptr<Policy> make_cellular_policy(const SchedulerConfig& config);

struct PaddedOptions {
  std::uint32_t bucket_width = 10;  // longest lanes of (i·w, (i+1)·w] steps share a bucket
  std::uint32_t max_batch = 64;     // requests that run together
};

// The baseline that today's servers use: whole requests of similar length, padded, run together from the
// first step to the last (BatchMaker §7.1): round-robin over the buckets, and an idle worker never waits.
std::unique_ptr<Policy> make_padded_policy(const SchedulerConfig& config, const PaddedOptions& options);

// Two baselines that batch inside the merged graph of up to `window` whole requests of one model, which run
// from the first node to the last; an idle worker never waits for more of them.
//
// Level by level: all that is ready when a level begins, type by type, runs before what that makes ready, as
// in TensorFlow Fold (ICLR'17, §2; ED-Batch §2).
std::unique_ptr<Policy> make_depth_policy(const SchedulerConfig& config, std::uint32_t window);

// All that is ready of the type whose nodes, of those that are left, lie least deep on average, as in DyNet's
// agenda (NeurIPS'17, §3.2; ED-Batch §2). Of a type the least deep nodes count as those that run first, and a
// lane that may be stopped as long as it can become.
std::unique_ptr<Policy> make_agenda_policy(const SchedulerConfig& config, std::uint32_t window);

}  // namespace volvox
