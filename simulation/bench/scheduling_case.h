#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "batching/request.h"
#include "batching/scheduler_config.h"
#include "shapes/lattices.h"

namespace volvox::bench {

// What one measurement of the scheduler schedules: requests that are ready to be admitted again and again
// (their graphs are made beforehand), and a configuration with slots for all that are live at once.
struct SchedulingCase {
  std::string name;  // "chain_64"
  SchedulerConfig config;
  LanePlan plan;  // of the chains; must stay where it is while requests are live
  std::vector<Request> requests;
  std::vector<std::uint32_t> cells;  // of each request
};

struct SchedulingSizes {
  std::uint32_t live = 16384, workers = 2;
  std::uint32_t models = 1;  // loaded; requests come for the first
};

// Chains of one type whose state alternates between two slots; maximum batch `max_batch`.
void make_chains(SchedulingCase& out, std::uint32_t max_batch, const std::vector<std::uint32_t>& lengths,
                 const SchedulingSizes& sizes);
// Binary trees, as TreeSource draws them, with types for leaves and inner nodes.
Status make_trees(SchedulingCase& out, std::uint32_t max_batch,
                  const std::vector<std::vector<std::int32_t>>& trees, const SchedulingSizes& sizes);
// Lattices with types for characters and words.
Status make_lattices(SchedulingCase& out, std::uint32_t max_batch, const std::vector<LatticeShape>& lattices,
                     const SchedulingSizes& sizes);

}  // namespace volvox::bench
