#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.h"
#include "simulation/cluster_scenario.h"

namespace volvox {

// What happened in a simulated cluster. Figures begin after the warm-up; counts begin at the start.
struct ScenarioReport {
  ClusterScenario scenario;
  std::uint64_t requests = 0, completed = 0, unfinished = 0;  // unfinished: in flight when the time was over
  std::map<ErrorCode, std::uint64_t> refused;
  std::uint64_t retries = 0, late_answers = 0;  // answers of attempts that were given up
  std::uint64_t twice = 0;                      // requests answered more than once: a defect
  std::uint64_t deaths = 0, suspicions = 0, rejoins = 0;
  std::vector<float> latencies_ms;
  // Cells left to do / cells a second, of each live node, every 100 ms; in milliseconds.
  std::vector<float> loads_ms;
};

nlohmann::json to_json(const ScenarioReport& report);
std::string to_text(const ScenarioReport& report);

}  // namespace volvox
