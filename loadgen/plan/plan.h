#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "loadgen/run/connection.h"

namespace volvox {

// A whole load, as a user asks for it. Spread over the connections it becomes one ConnectionPlan for each.
struct LoadPlan {
  Arrivals arrivals = Arrivals::kPoisson;
  double rate = 0;  // requests a second over all connections; of a curve, how often it is taken
  std::shared_ptr<const RateCurve> curve{};
  std::uint32_t concurrency = 0;  // in flight over all connections; closed loop
  std::uint32_t connections = 1;
  Duration warmup{};
  Duration measured{};         // 0: until `requests`
  std::uint64_t requests = 0;  // 0: until `measured` has passed; at least one of the two
  Duration timeout = std::chrono::seconds(30);
  std::uint64_t seed = 1;
  std::size_t samples = 0;  // answers kept for verification
  bool timeline = false;    // keep what became of each measured request
};

// The trace of kTrace is the mix's; it ends the load, unless `requests` or `measured` do.
// Says what makes no sense, as INVALID_ARGUMENT.
Status check_plan(const LoadPlan& plan);

// The connections' parts of a checked plan: requests, slots and samples are divided without loss, a Poisson
// process into independent ones of a lower rate, a constant schedule into shifted ones. Each part has
// something to do.
std::vector<ConnectionPlan> divide(const LoadPlan& plan);

// The same of parts that somebody else made: each can be run, and all of them are parts of one load.
Status check_parts(const std::vector<ConnectionPlan>& parts);

}  // namespace volvox
