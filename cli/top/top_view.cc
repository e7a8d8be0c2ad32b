#include "cli/top/top_view.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <utility>

namespace volvox {
namespace {

using Lines = std::vector<std::string>;

constexpr double kMiB = 1 << 20;
constexpr std::size_t kLeastName = 8;

template <class... Values>
std::string text(const char* format, Values... values) {
  std::array<char, 240> line{};
  std::snprintf(line.data(), line.size(), format, values...);
  return line.data();
}

// A name in its column: the end says more than the beginning.
std::string named(const std::string& name, std::size_t width) {
  std::string shown(name, name.size() - std::min(name.size(), width));
  if (name.size() > width) shown.front() = '~';
  shown.resize(width, ' ');
  return shown;
}

// A heading, its rows, and how wide what follows the name is.
struct Table {
  std::string title, columns;
  std::vector<std::pair<std::string, std::string>> rows;

  Lines lines(std::size_t width) const {
    const std::size_t name = std::max(kLeastName, width - std::min(width, columns.size()));
    Lines lines{named(title, name) + columns};
    for (const auto& [of, row] : rows) lines.push_back(named(of, name) + row);
    return lines;
  }
};

double share(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

std::string milliseconds(const std::optional<double>& seconds) {
  return seconds ? text("%8.1f", *seconds * 1e3) : text("%8s", "-");
}

std::string state_of(const TopSight& sight) {
  if (!sight.now) return "silent";
  const std::string& said = sight.now->readiness;
  if (!sight.now->healthy) return "sick";
  return said == "ready" || said == "starting" || said == "draining" ? said : "unready";
}

Table processes(std::span<const TopSight> sights) {
  Table table{"PROCESS",
              text("%9s%9s%8s%8s%8s%7s%7s", "STATE", "REQ/S", "P50 ms", "P99 ms", "FLIGHT", "CPU %", "MiB"),
              {}};
  for (const TopSight& sight : sights) {
    std::string row = text("%9s", state_of(sight).c_str());
    if (!sight.now) {
      row += "  " + sight.trouble;
    } else {
      const std::array one{&sight};
      row += text("%9.1f", top_rate(sight, "volvox_requests_total"));
      row += milliseconds(top_quantile(one, "volvox_request_total_seconds", 0.5));
      row += milliseconds(top_quantile(one, "volvox_request_total_seconds", 0.99));
      row += text("%8.0f%7.0f%7.0f", top_gauge(sight, "volvox_requests_in_flight"),
                  100 * top_rate(sight, "process_cpu_seconds_total"),
                  top_gauge(sight, "process_resident_memory_bytes") / kMiB);
    }
    table.rows.emplace_back(sight.name, row);
  }
  return table;
}

double of(const TopSums& sums, const std::string& value) {
  const auto found = sums.find(value);
  return found == sums.end() ? 0 : found->second;
}

// All figures of a process, by device.
struct DeviceFigures {
  TopSums cells, tasks, rows, padding, busy, live, waiting, slots, reserved, up;

  explicit DeviceFigures(const TopSight& sight) {
    const auto rates = [&](const char* name) { return top_rates(sight, name, "device"); };
    const auto gauges = [&](const char* name) { return sight.now->page.sum_by(name, "device"); };
    cells = rates("volvox_cells_total");
    tasks = rates("volvox_tasks_total");
    rows = rates("volvox_rows_executed_total");
    padding = rates("volvox_rows_padding_total");
    busy = rates("volvox_kernel_seconds_total");
    live = gauges("volvox_live_requests");
    waiting = gauges("volvox_waiting_requests");
    slots = gauges("volvox_slots");
    reserved = gauges("volvox_slots_reserved");
    up = gauges("volvox_device_up");
  }

  std::string row(const std::string& device) const {
    const double ran = of(tasks, device);
    return text("%9.0f%9.0f%7.1f%6.0f%6.0f%6.0f%7.0f%7.0f", of(cells, device), ran,
                ran > 0 ? (of(rows, device) - of(padding, device)) / ran : 0,
                share(of(padding, device), of(rows, device)), of(live, device), of(waiting, device),
                100 * of(busy, device), share(of(reserved, device), of(slots, device)));
  }
};

Table devices(std::span<const TopSight> sights) {
  Table table{"DEVICE",
              text("%9s%9s%7s%6s%6s%6s%7s%7s", "CELLS/S", "TASKS/S", "BATCH", "PAD %", "LIVE", "WAIT",
                   "BUSY %", "SLOT %"),
              {}};
  for (const TopSight& sight : sights) {
    if (!sight.now) continue;
    const DeviceFigures figures(sight);
    for (const auto& [device, up] : figures.up) {
      const std::string name = sight.name + " " + device + (up == 0 ? " DOWN" : "");
      table.rows.emplace_back(name, figures.row(device));
    }
  }
  return table;
}

// What the processes' devices did of one cell type together.
struct TypeFigures {
  double rows = 0, tasks = 0, padding = 0, ready = 0, running = 0;
};

using Types = std::map<std::string, TypeFigures>;  // by "model/version type"

// Counters are told apart by model and type, whatever the device.
void add(Types& types, const ServerStatus& status, const char* metric, double TypeFigures::*figure,
         double factor) {
  for (const MetricSample* sample : status.page.all(metric)) {
    const std::string name = std::string(sample->label("model")) + " " + std::string(sample->label("type"));
    types[name].*figure += factor * sample->value;
  }
}

void add_rates(Types& types, const TopSight& sight, const char* metric, double TypeFigures::*figure) {
  if (!sight.before || sight.seconds <= 0) return;
  Types now, before;
  add(now, *sight.now, metric, figure, 1 / sight.seconds);
  add(before, *sight.before, metric, figure, 1 / sight.seconds);
  for (const auto& [name, value] : now) {
    const double grown = value.*figure - before[name].*figure;
    types[name].*figure += grown >= 0 ? grown : value.*figure;
  }
}

Table cell_types(std::span<const TopSight> sights) {
  Types types;
  for (const TopSight& sight : sights) {
    if (!sight.now) continue;
    add(types, *sight.now, "volvox_ready_nodes", &TypeFigures::ready, 1);
    add(types, *sight.now, "volvox_running_tasks", &TypeFigures::running, 1);
    add_rates(types, sight, "volvox_batch_rows_sum", &TypeFigures::rows);
    add_rates(types, sight, "volvox_batch_rows_count", &TypeFigures::tasks);
    add_rates(types, sight, "volvox_type_padding_rows_total", &TypeFigures::padding);
  }
  std::vector<std::pair<std::string, TypeFigures>> busiest(types.begin(), types.end());
  std::stable_sort(busiest.begin(), busiest.end(),
                   [](const auto& one, const auto& other) { return one.second.rows > other.second.rows; });
  Table table{"CELL TYPE",
              text("%10s%9s%8s%7s%8s%8s", "CELLS/S", "TASKS/S", "BATCH", "PAD %", "READY", "RUNNING"),
              {}};
  for (const auto& [name, type] : busiest) {
    const double batch = type.tasks > 0 ? type.rows / type.tasks : 0;
    table.rows.emplace_back(name,
                            text("%10.0f%9.0f%8.1f%7.0f%8.0f%8.0f", type.rows, type.tasks, batch,
                                 share(type.padding, type.rows + type.padding), type.ready, type.running));
  }
  return table;
}

// "ok 120.0, overloaded 3.0": what there was of it, the most first.
std::string outcomes(std::span<const TopSight* const> clients) {
  TopSums rates;
  const auto is_known = [](const TopSight* sight) { return sight->now && sight->before; };
  if (std::none_of(clients.begin(), clients.end(), is_known)) return "not known yet";
  for (const TopSight* sight : clients) {
    for (const auto& [outcome, rate] : top_rates(*sight, "volvox_requests_total", "outcome"))
      rates[outcome] += rate;
  }
  std::vector<std::pair<std::string, double>> most(rates.begin(), rates.end());
  std::stable_sort(most.begin(), most.end(),
                   [](const auto& one, const auto& other) { return one.second > other.second; });
  std::string said;
  for (const auto& [outcome, rate] : most) {
    if (rate > 0) said += text("%s%s %.1f", said.empty() ? "" : ", ", outcome.c_str(), rate);
  }
  return said.empty() ? "none" : said;
}

Lines head(std::span<const TopSight> sights, std::string_view clock) {
  std::vector<const TopSight*> clients;
  double in_flight = 0, sessions = 0, backlog = 0;
  std::size_t answer = 0;
  for (const TopSight& sight : sights) {
    answer += sight.now ? 1 : 0;
    sessions += sight.now ? of(sight.now->page.sum_by("volvox_sessions", "state"), "live") : 0;
    backlog = std::max(backlog, top_gauge(sight, "volvox_backlog_seconds"));
    if (sight.is_node()) continue;
    clients.push_back(&sight);
    in_flight += top_gauge(sight, "volvox_requests_in_flight");
  }
  const auto quantile = [&](double q) { return top_quantile(clients, "volvox_request_total_seconds", q); };
  return {
      text("volvox top  %s  %zu of %zu processes answer", std::string(clock).c_str(), answer, sights.size()),
      "requests/s  " + outcomes(clients),
      text("latency ms  p50 %s  p99 %s  in flight %.0f  sessions %.0f  backlog %.2f s",
           milliseconds(quantile(0.5)).c_str(), milliseconds(quantile(0.99)).c_str(), in_flight, sessions,
           backlog)};
}

// Leaves `most` lines: the last one says how many rows are missing.
void shorten(Lines& lines, std::size_t most) {
  if (lines.size() <= most) return;
  const std::size_t missing = lines.size() - most + 1;
  lines.resize(most);
  if (!lines.empty()) lines.back() = text("  and %zu more", missing);
}

std::string printable(const std::string& line, std::size_t columns) {
  std::string shown = line.substr(0, columns);
  shown.erase(shown.find_last_not_of(' ') + 1);
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return shown;
}

}  // namespace

Lines top_lines(std::span<const TopSight> sights, std::string_view clock, TopSize size) {
  Lines lines = head(sights, clock);
  std::array tables{processes(sights).lines(size.columns), devices(sights).lines(size.columns),
                    cell_types(sights).lines(size.columns)};
  for (std::size_t i = 0; i < tables.size(); ++i) {
    Lines& table = tables[i];
    if (table.size() < 2) continue;  // a heading alone
    lines.emplace_back();
    if (size.rows != 0) {
      const std::size_t left = size.rows - std::min(size.rows, lines.size());
      // Each table leaves as much to those behind it as it may have itself.
      shorten(table, std::max<std::size_t>(left / (tables.size() - i), std::min<std::size_t>(left, 3)));
    }
    lines.insert(lines.end(), table.begin(), table.end());
  }
  if (size.rows != 0 && lines.size() > size.rows) lines.resize(size.rows);
  for (std::string& line : lines) line = printable(line, size.columns);
  return lines;
}

}  // namespace volvox
