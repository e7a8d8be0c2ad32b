#include "simulation/cluster_scenario.h"

#include <algorithm>
#include <array>
#include <set>
#include <sstream>
#include <string>

#include "config/load.h"
#include "config/toml_text.h"

namespace volvox {
namespace {

constexpr std::array<std::string_view, 3> kPlacements{"balance", "pack", "random"};
constexpr std::array<std::string_view, 2> kEngines{"flow", "scheduler"};

bool ascending(const std::vector<CompiledCell::Cost>& costs) {
  const auto not_after = [](const auto& a, const auto& b) { return a.rows >= b.rows || a.us > b.us; };
  return std::adjacent_find(costs.begin(), costs.end(), not_after) == costs.end();
}

// The one list of keys, for reading and for checking: v(key, value, least, most).
template <class Scenario, class Visitor>
void visit_numbers(Scenario& s, Visitor&& v) {
  v("seconds", s.seconds, 0.1, 1e6);
  v("warmup_s", s.warmup_s, 0.0, 1e6);
  v("nodes", s.nodes, 1.0, 100'000.0);
  v("task_us", s.task_us, 0.0, 1e7);
  v("row_us", s.row_us, 0.001, 1e6);
  v("max_rows", s.max_rows, 1.0, 65'536.0);
  v("routers", s.routers, 1.0, 1024.0);
  v("link_us", s.link_us, 0.0, 1e6);
  v("report_every_ms", s.report_every_ms, 1.0, 10'000.0);
  v("report_delay_ms", s.report_delay_ms, 0.0, 10'000.0);
  v("max_requests_per_node", s.max_requests_per_node, 1.0, 1e6);
  v("utilisation", s.utilisation, 0.001, 10.0);
  v("models", s.models, 1.0, 10'000.0);
  v("zipf", s.zipf, 0.0, 10.0);
  v("cells", s.cells, 1.0, 1e6);
  v("deadline_ms", s.deadline_ms, 1.0, 1e7);
  v("wave", s.wave, 0.0, 1.0);
  v("wave_s", s.wave_s, 0.1, 1e6);
  v("churn_per_minute", s.churn_per_minute, 0.0, 60.0);
  v("restart_s", s.restart_s, 0.0, 1e6);
  v("stragglers", s.stragglers, 0.0, 1.0);
  v("straggler_slowdown", s.straggler_slowdown, 1.0, 1e4);
  v("straggler_s", s.straggler_s, 0.1, 1e6);
  v("partitions_per_minute", s.partitions_per_minute, 0.0, 1e6);
  v("partition_s", s.partition_s, 0.01, 1e6);
}

class Reader {
 public:
  Reader(const toml::table& root, std::string_view file) : root_(root), file_(file) {}

  template <class T>
  void operator()(std::string_view key, T& value, double least, double most) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    const auto number = node->value<double>();
    if (!number || !node->is_number()) return refuse(*node, key, "must be a number");
    if (!(*number >= least && *number <= most)) {
      std::ostringstream range;
      range << "must be between " << least << " and " << most;
      return refuse(*node, key, range.str());
    }
    value = static_cast<T>(*number);
  }
  void seed(std::uint64_t& value) {
    const toml::node* node = find("seed");
    if (node == nullptr) return;
    if (!node->is_integer() || **node->as_integer() < 0)
      return refuse(*node, "seed", "must be a whole number");
    value = static_cast<std::uint64_t>(**node->as_integer());
  }
  // One of the names, of which the n-th stands for the enumerator n.
  template <class Enum, std::size_t kCount>
  void choice(std::string_view key, Enum& value, const std::array<std::string_view, kCount>& names,
              const std::string& what) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    const auto found = std::find(names.begin(), names.end(), node->value<std::string_view>());
    if (found == names.end()) return refuse(*node, key, "must be " + what);
    value = static_cast<Enum>(found - names.begin());
  }
  void costs(std::vector<CompiledCell::Cost>& table) {
    const toml::node* node = find("costs");
    if (node == nullptr) return;
    const std::string what = "must be a list of [rows, microseconds], both rising, as [[1, 90], [64, 200.5]]";
    const toml::array* array = node->as_array();
    if (array == nullptr || array->empty()) return refuse(*node, "costs", what);
    for (const auto& entry : *array) {
      const toml::array* pair = entry.as_array();
      const bool two = pair != nullptr && pair->size() == 2;
      const double rows = two ? pair->get(0)->value<double>().value_or(0) : 0;
      const double us = two ? pair->get(1)->value<double>().value_or(0) : 0;
      if (!(rows >= 1 && rows <= 65'536 && us >= 0.001 && us <= 1e9)) return refuse(*node, "costs", what);
      table.push_back({static_cast<std::uint32_t>(rows), us});
    }
    if (!ascending(table)) return refuse(*node, "costs", what);
    for (const std::string_view other : {"task_us", "row_us"})
      if (const toml::node* given = root_.get(other))
        return refuse(*given, other, "is not looked at where there are costs; leave one of them out");
  }
  void speeds(std::vector<double>& values) {
    const toml::node* node = find("speeds");
    if (node == nullptr) return;
    values.clear();
    if (const toml::array* array = node->as_array()) {
      for (const auto& entry : *array) values.push_back(entry.value<double>().value_or(0));
    }
    for (const double speed : values)
      if (!(speed >= 0.001 && speed <= 1000)) values.clear();
    if (values.empty()) refuse(*node, "speeds", "must be a list of numbers between 0.001 and 1000");
  }
  Status finish() {
    for (const auto& [key, node] : root_)
      if (!known_.contains(std::string(key.str()))) refuse(node, key.str(), "is unknown");
    return error_;
  }

 private:
  const toml::node* find(std::string_view key) {
    known_.insert(std::string(key));
    return root_.get(key);
  }
  void refuse(const toml::node& node, std::string_view key, const std::string& message) {
    if (!error_) return;
    error_ = invalid(file_ + ":" + std::to_string(node.source().begin.line) + ": " + std::string(key) + ": " +
                     message);
  }

  const toml::table& root_;
  std::string file_;
  std::set<std::string> known_;
  Status error_;
};

Result<ClusterScenario> read(const toml::table& root, std::string_view name) {
  ClusterScenario scenario;
  Reader reader(root, name);
  reader.seed(scenario.seed);
  reader.choice("placement", scenario.placement, kPlacements, "balance, pack or random");
  reader.choice("engine", scenario.engine, kEngines, "flow or scheduler");
  reader.costs(scenario.costs);
  reader.speeds(scenario.speeds);
  visit_numbers(scenario, reader);
  if (const Status all = reader.finish(); !all) return tl::unexpected(all.error());
  if (const Status good = check(scenario); !good)
    return invalid(std::string(name) + ": " + good.error().message);
  return scenario;
}

}  // namespace

Status check(const ClusterScenario& scenario) {
  Status status;
  visit_numbers(scenario, [&](std::string_view key, auto value, double least, double most) {
    const auto number = static_cast<double>(value);
    if (status && !(number >= least && number <= most))
      status = invalid(std::string(key) + " is out of range");
  });
  if (status && !ascending(scenario.costs)) status = invalid("costs must rise");
  if (status && scenario.speeds.empty()) status = invalid("speeds must not be empty");
  if (status && scenario.warmup_s >= scenario.seconds) status = invalid("warmup_s must be less than seconds");
  return status;
}

Result<ClusterScenario> parse_scenario(std::string_view toml, std::string_view name) {
  return read_toml(toml, name, [name](const toml::table& root) { return read(root, name); });
}

Result<ClusterScenario> load_scenario(const std::filesystem::path& file) {
  const auto text = read_text_file(file);
  if (!text) return tl::unexpected(text.error());
  return parse_scenario(*text, file.string());
}

}  // namespace volvox
