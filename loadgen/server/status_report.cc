#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "loadgen/server/server_status.h"

namespace volvox {
namespace {

using nlohmann::json;

// Gauges and counters of one device, cell type or pool: the page's name for each, and ours.
struct Column {
  const char* metric;
  const char* key;
};
constexpr std::array<Column, 9> kDeviceColumns{{{"volvox_device_up", "up"},
                                                {"volvox_live_requests", "live"},
                                                {"volvox_waiting_requests", "waiting"},
                                                {"volvox_cells_total", "cells"},
                                                {"volvox_tasks_total", "tasks"},
                                                {"volvox_rows_executed_total", "rows"},
                                                {"volvox_rows_padding_total", "padding"},
                                                {"volvox_rows_moved_total", "moved"},
                                                {"volvox_kernel_seconds_total", "kernel_seconds"}}};
constexpr std::array<Column, 4> kTypeColumns{{{"volvox_ready_nodes", "ready"},
                                              {"volvox_running_tasks", "running"},
                                              {"volvox_batch_rows_count", "tasks"},
                                              {"volvox_batch_rows_sum", "rows"}}};
constexpr std::array<Column, 3> kPoolColumns{
    {{"volvox_slots", "slots"}, {"volvox_slots_reserved", "reserved"}, {"volvox_slots_used", "used"}}};

// Prometheus knows doubles only; a count is written as one.
json in_json(double value) {
  constexpr double kExact = 1LL << 53;
  if (value == std::floor(value) && std::abs(value) < kExact) return static_cast<std::int64_t>(value);
  return value;
}

// One object for each distinct set of labels, in the page's order.
template <std::size_t kSize>
json rows_of(const MetricsPage& page, const std::array<Column, kSize>& columns,
             const std::vector<std::string>& labels) {
  std::vector<std::string> order;
  std::map<std::string, json> rows;
  for (const Column& column : columns) {
    for (const MetricSample* sample : page.all(column.metric)) {
      json row;
      for (const std::string& label : labels) row[label] = std::string(sample->label(label));
      const std::string key = row.dump();
      if (rows.try_emplace(key, row).second) order.push_back(key);
      rows[key][column.key] = in_json(sample->value);
    }
  }
  json list = json::array();
  for (const std::string& key : order) list.push_back(rows[key]);
  return list;
}

double mean_ms(const MetricsPage& page, const std::string& name) {
  const double count = page.sum(name + "_count").value_or(0.0);
  if (count <= 0) return 0;
  return std::round(page.sum(name + "_sum").value_or(0.0) / count * 1e6) / 1e3;  // to the microsecond
}

double rate_of(const ServerStatus& status, const ServerStatus* earlier, double seconds, const char* metric) {
  if (earlier == nullptr || seconds <= 0) return 0.0;
  const double now = status.page.sum(metric).value_or(0.0), before = earlier->page.sum(metric).value_or(0.0);
  return counter_growth(now, before) / seconds;
}

json requests_of(const MetricsPage& page) {
  json outcomes = json::object();
  for (const auto& [outcome, count] : page.sum_by("volvox_requests_total", "outcome")) {
    if (count > 0 || outcome == "ok") outcomes[outcome] = in_json(count);
  }
  return outcomes;
}

void add_mean_batch(json& types) {
  for (json& type : types) {
    const double tasks = type.value("tasks", 0.0);
    type["mean_batch"] = tasks > 0 ? type.value("rows", 0.0) / tasks : 0.0;
  }
}

template <class... Values>
void add(std::string& text, const char* format, Values... values) {
  std::array<char, 400> line{};
  if (std::snprintf(line.data(), line.size(), format, values...) > 0)
    text.append(line.data()).push_back('\n');
}

double number(const json& row, const char* key) {
  return row.value(key, 0.0);
}

std::string name(const json& row, const char* key) {
  return row.value(key, std::string());
}

void add_requests(std::string& text, const json& status) {
  for (const auto& [outcome, count] : status["requests"].items()) {
    add(text, "  %-20s %12.0f", outcome.c_str(), count.get<double>());
  }
  add(text, "  %-20s %12.0f", "in flight", number(status, "in_flight"));
  if (status.contains("rates")) {
    add(text, "  %-20s %12.1f", "answered a second", number(status["rates"], "requests"));
    add(text, "  %-20s %12.1f", "cells a second", number(status["rates"], "cells"));
  }
  const json& mean = status["mean_ms"];
  add(text, "  mean ms: queue %.3f, compute %.3f, total %.3f", number(mean, "queue"), number(mean, "compute"),
      number(mean, "total"));
}

// Which of several devices the row is about.
std::string of_device(const json& status, const json& row, const std::string& what) {
  return status["devices"].size() > 1 ? name(row, "device") + " " + what : what;
}

void add_tables(std::string& text, const json& status) {
  if (!status["devices"].empty())
    add(text, "%-22s %7s %8s %12s %10s %8s %7s", "device", "live", "waiting", "cells", "tasks", "padding",
        "moved");
  for (const json& row : status["devices"]) {
    const std::string device = name(row, "device") + (row.value("up", 1.0) == 0 ? " (down)" : "");
    add(text, "%-22s %7.0f %8.0f %12.0f %10.0f %8.0f %7.0f", device.c_str(), number(row, "live"),
        number(row, "waiting"), number(row, "cells"), number(row, "tasks"), number(row, "padding"),
        number(row, "moved"));
  }
  if (!status["types"].empty())
    add(text, "%-24s %8s %8s %12s %10s", "cell type", "ready", "running", "mean batch", "tasks");
  for (const json& row : status["types"]) {
    const std::string type = of_device(status, row, name(row, "model") + "/" + name(row, "type"));
    add(text, "%-24s %8.0f %8.0f %12.1f %10.0f", type.c_str(), number(row, "ready"), number(row, "running"),
        number(row, "mean_batch"), number(row, "tasks"));
  }
  if (!status["pools"].empty()) add(text, "%-24s %8s %8s %12s", "slots", "used", "reserved", "of");
  for (const json& row : status["pools"]) {
    const std::string pool = of_device(status, row, name(row, "pool"));
    add(text, "%-24s %8.0f %8.0f %12.0f", pool.c_str(), number(row, "used"), number(row, "reserved"),
        number(row, "slots"));
  }
}

}  // namespace

json status_json(const ServerStatus& status, const ServerStatus* earlier, double seconds) {
  const MetricsPage& page = status.page;
  json report;
  report["url"] = status.url;
  report["healthy"] = status.healthy;
  report["ready"] = status.ready();
  report["readiness"] = status.readiness;
  report["requests"] = requests_of(page);
  report["in_flight"] = in_json(page.sum("volvox_requests_in_flight").value_or(0.0));
  report["mean_ms"] = {{"queue", mean_ms(page, "volvox_request_queue_seconds")},
                       {"compute", mean_ms(page, "volvox_request_compute_seconds")},
                       {"total", mean_ms(page, "volvox_request_total_seconds")}};
  report["devices"] = rows_of(page, kDeviceColumns, {"device"});
  report["types"] = rows_of(page, kTypeColumns, {"device", "model", "type"});
  add_mean_batch(report["types"]);
  report["pools"] = rows_of(page, kPoolColumns, {"device", "pool"});
  report["cpu_seconds"] = page.sum_by("volvox_cpu_seconds_total", "where");
  if (earlier != nullptr) {
    report["rates"] = {{"requests", rate_of(status, earlier, seconds, "volvox_requests_total")},
                       {"cells", rate_of(status, earlier, seconds, "volvox_cells_total")},
                       {"tasks", rate_of(status, earlier, seconds, "volvox_tasks_total")}};
  }
  return report;
}

std::string status_text(const ServerStatus& status, const ServerStatus* earlier, double seconds) {
  const json report = status_json(status, earlier, seconds);
  std::string text;
  add(text, "%s: %s, %s", status.url.c_str(), status.healthy ? "healthy" : "NOT healthy",
      status.readiness.c_str());
  add(text, "%s", "requests");
  add_requests(text, report);
  add_tables(text, report);
  return text;
}

}  // namespace volvox
