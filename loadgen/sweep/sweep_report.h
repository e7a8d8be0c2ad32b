#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "loadgen/sweep/sweep.h"

namespace volvox {

// What a sweep found out; docs/load.md explains the keys and columns.
nlohmann::json to_json(const Sweep& sweep, const SweepPlan& plan);
std::string to_csv(const Sweep& sweep);
std::string to_text(const Sweep& sweep, const SweepPlan& plan);

// A page that needs nothing else, and no network: latency against throughput, and how long the requests at
// the highest good rate waited, computed and took in all, and how large the batches were, where that is
// known. `title` says what was measured.
std::string to_html(const Sweep& sweep, const SweepPlan& plan, const std::string& title);

}  // namespace volvox
