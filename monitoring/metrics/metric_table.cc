#include "monitoring/metrics/metric_table.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "monitoring/agent_monitor.h"
#include "monitoring/metrics/metric_families.h"
#include "monitoring/monitor.h"

namespace volvox {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

// Their values are known when a process runs; all others are in the code.
constexpr std::array<std::string_view, 5> kOpenLabels{"device", "model", "pool", "type", "version"};

constexpr std::string_view kRest = "Requests and their clients";
// A metric belongs to the first heading whose prefix its name has.
constexpr std::array<std::pair<std::string_view, std::string_view>, 23> kHeadings{
    {{"volvox_agent_", "Agents of the load generator"},
     {"volvox_http_", "HTTP"},
     {"volvox_model", "Models"},
     {"volvox_session", "Sessions"},
     {"volvox_cluster_", "The cluster: routers and nodes"},
     {"volvox_certificate_", "The cluster: routers and nodes"},
     {"volvox_batch_", "Devices and batches"},
     {"volvox_cells_", "Devices and batches"},
     {"volvox_tasks_", "Devices and batches"},
     {"volvox_rows_", "Devices and batches"},
     {"volvox_type_", "Devices and batches"},
     {"volvox_ready_", "Devices and batches"},
     {"volvox_running_", "Devices and batches"},
     {"volvox_slots", "Devices and batches"},
     {"volvox_live_", "Devices and batches"},
     {"volvox_waiting_requests", "Devices and batches"},
     {"volvox_waiting_clients", "Devices and batches"},
     {"volvox_device_", "Devices and batches"},
     {"volvox_stuck_queues", "Devices and batches"},
     {"volvox_engine_", "Devices and batches"},
     {"volvox_kernel_", "Devices and batches"},
     {"volvox_trace_", "Traces"},
     {"process_", "The process"}}};
constexpr std::array<std::string_view, 4> kOfTheProcess{"volvox_build_info", "volvox_log_lines_dropped_total",
                                                        "volvox_actor_restarts_total",
                                                        "volvox_cpu_seconds_total"};
constexpr std::array<std::string_view, 9> kOrder{kRest,
                                                 "HTTP",
                                                 "Models",
                                                 "Devices and batches",
                                                 "Sessions",
                                                 "The cluster: routers and nodes",
                                                 "Traces",
                                                 "The process",
                                                 "Agents of the load generator"};

std::string_view heading_of(std::string_view name) {
  if (std::find(kOfTheProcess.begin(), kOfTheProcess.end(), name) != kOfTheProcess.end())
    return "The process";
  const auto* found = std::find_if(kHeadings.begin(), kHeadings.end(),
                                   [&](const auto& entry) { return name.starts_with(entry.first); });
  return found == kHeadings.end() ? kRest : found->second;
}

const char* name_of(MetricType type) {
  if (type == MetricType::Counter) return "counter";
  return type == MetricType::Histogram ? "histogram" : "gauge";
}

// "`model`, `outcome` (ok, internal)"
std::string labels_of(const MetricFamily& family) {
  std::map<std::string, std::set<std::string>> values;
  for (const auto& metric : family.metric) {
    for (const auto& label : metric.label) values[label.name].insert(label.value);
  }
  std::string text;
  for (const auto& [label, known] : values) {
    text.append(text.empty() ? "`" : ", `").append(label).append("`");
    if (std::find(kOpenLabels.begin(), kOpenLabels.end(), label) != kOpenLabels.end()) continue;
    for (const std::string& value : known) text.append(value == *known.begin() ? " (" : ", ").append(value);
    text.append(")");
  }
  return text;
}

EngineSnapshot any_engine() {
  EngineSnapshot engine;
  engine.device = "cpu";
  EngineSnapshot::Type type;
  type.model = "lstm/1";
  engine.types.push_back(type);
  engine.models.push_back({"lstm/1", 0, 0, 0});
  engine.pools.push_back({"lstm/1", 0, 0, 0});
  return engine;
}

// Of a process that shows all there is, and of agents what only they show.
std::vector<MetricFamily> all_families(std::span<const std::string_view> session_ends) {
  Monitor monitor("");
  monitor.cluster().set_certificate_end(0);
  ModelRequests model{"lstm/1", {}};
  for (ModelRequests::ByDoor& door : model.doors) door.outcomes.fill(1);
  monitor.watch_models([&] { return std::vector{model}; }, {kDoors.begin(), kDoors.end()});
  monitor.watch_engines([] { return std::vector{any_engine()}; }, 1);
  monitor.watch_devices([] { return std::vector{DeviceState{"cpu", ""}}; });
  SessionFigures sessions;
  for (std::size_t i = 0; i < std::min(session_ends.size(), sessions.releases.size()); ++i)
    sessions.releases[i].first = session_ends[i];
  monitor.sessions().publish(sessions);
  std::vector<MetricFamily> families = monitor.families();
  const AgentMonitor agent("");
  append(families, agent.families());
  std::stable_sort(families.begin(), families.end(),
                   [](const auto& one, const auto& other) { return one.name < other.name; });
  const auto same = [](const auto& one, const auto& other) { return one.name == other.name; };
  families.erase(std::unique(families.begin(), families.end(), same), families.end());
  return families;
}

}  // namespace

std::string metric_tables(std::span<const std::string_view> session_ends) {
  const std::vector<MetricFamily> families = all_families(session_ends);
  std::string text;
  for (const std::string_view heading : kOrder) {
    text.append(text.empty() ? "## " : "\n## ").append(heading);
    text.append("\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n");
    for (const MetricFamily& family : families) {
      if (heading_of(family.name) != heading) continue;
      text.append("| `").append(family.name).append("` | ").append(name_of(family.type)).append(" | ");
      text.append(labels_of(family)).append(" | ").append(family.help).append(" |\n");
    }
  }
  return text;
}

}  // namespace volvox
