#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "device/device.h"
#include "routing/router.h"

namespace volvox {

// What stands for a node: requests that advance evenly, or the Scheduler and every task of it.
enum class SimEngine : std::uint8_t { kFlow, kScheduler };

// A cluster to simulate, as a TOML file describes it. Times are in the units of the names. The values below
// are the defaults; docs/cluster.md explains them.
struct ClusterScenario {
  std::uint64_t seed = 1;
  double seconds = 60;  // of virtual time
  double warmup_s = 5;  // of it that no figure counts

  // The nodes. A task costs (task_us + row_us · rows) / speed, and every row of it advances one cell.
  std::uint32_t nodes = 1000;
  std::vector<double> speeds{1, 2, 3, 4};  // by turns
  SimEngine engine = SimEngine::kFlow;
  double task_us = 200, row_us = 8;
  // Instead of these two: measured microseconds by rows, ascending; between two of them interpolated.
  std::vector<CompiledCell::Cost> costs;
  std::uint32_t max_rows = 256;  // of a task; more requests wait

  // The routers and the messages between them and the nodes.
  std::uint32_t routers = 8;
  PlacementKind placement = PlacementKind::kBalance;
  double link_us = 200;  // a message's way
  double report_every_ms = 100;
  double report_delay_ms = 100;                // how much longer a report takes
  std::uint32_t max_requests_per_node = 4096;  // credit

  // The demand: requests arrive at random, each at any router; models are asked for by Zipf's law.
  double utilisation = 0.7;  // of what all nodes can do
  std::uint32_t models = 64;
  double zipf = 1.1;
  double cells = 100;  // of a request, on average over the models
  double deadline_ms = 10'000;
  double wave = 0;     // diurnal load: rises and falls by this share of itself …
  double wave_s = 20;  // … once in so long

  // What goes wrong.
  double churn_per_minute = 0.01;    // share of the nodes that die; each comes back …
  double restart_s = 5;              // … as a new process after so long
  double stragglers = 0;             // share of the nodes that are slow at any time …
  double straggler_slowdown = 5;     // … by this factor …
  double straggler_s = 5;            // … for so long
  double partitions_per_minute = 0;  // how often a router and a node lose each other …
  double partition_s = 2;            // … for so long
};

// Reads a scenario; absent keys keep their defaults. Errors read "FILE:LINE: key: what to do".
Result<ClusterScenario> parse_scenario(std::string_view toml, std::string_view name);
Result<ClusterScenario> load_scenario(const std::filesystem::path& file);

// Says what makes no sense: a number out of its range.
Status check(const ClusterScenario& scenario);

}  // namespace volvox
