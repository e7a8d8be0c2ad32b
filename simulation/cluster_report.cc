#include "simulation/cluster_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <nlohmann/json.hpp>

namespace volvox {
namespace {

double quantile(const std::vector<float>& sorted, double q) {
  if (sorted.empty()) return 0;
  const double place = q * static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(std::lround(place))];
}

double mean(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

// Four digits are enough for people, and the same everywhere.
double rounded(double value) {
  return std::round(value * 1e4) / 1e4;
}

nlohmann::json spread(std::vector<float> values) {
  std::sort(values.begin(), values.end());
  nlohmann::json json;
  json["mean"] = rounded(mean(values));
  for (const auto& [name, q] : {std::pair{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"max", 1.0}})
    json[name] = rounded(quantile(values, q));
  return json;
}

}  // namespace

nlohmann::json to_json(const ScenarioReport& report) {
  const ClusterScenario& scenario = report.scenario;
  nlohmann::json json;
  json["scenario"] = {{"seed", scenario.seed},
                      {"seconds", scenario.seconds},
                      {"nodes", scenario.nodes},
                      {"engine", static_cast<int>(scenario.engine)},
                      {"routers", scenario.routers},
                      {"zipf", scenario.zipf},
                      {"utilisation", scenario.utilisation},
                      {"placement", static_cast<int>(scenario.placement)}};
  json["requests"] = report.requests;
  json["completed"] = report.completed;
  json["unfinished"] = report.unfinished;
  json["refused"] = nlohmann::json::object();
  for (const auto& [code, count] : report.refused) json["refused"][std::string(to_string(code))] = count;
  json["retries"] = report.retries;
  json["late_answers"] = report.late_answers;
  json["answered_twice"] = report.twice;
  json["deaths"] = report.deaths;
  json["suspicions"] = report.suspicions;
  json["rejoins"] = report.rejoins;
  json["latency_ms"] = spread(report.latencies_ms);
  json["load_over_capacity_ms"] = spread(report.loads_ms);
  const auto& load = json["load_over_capacity_ms"];
  const double average = load["mean"].get<double>();
  json["load_p99_over_mean"] = average > 0 ? rounded(load["p99"].get<double>() / average) : 0.0;
  return json;
}

std::string to_text(const ScenarioReport& report) {
  const nlohmann::json json = to_json(report);
  std::string text;
  const auto line = [&](const char* name, const std::string& value) {
    char buffer[160];
    std::snprintf(buffer, sizeof(buffer), "%-28s %s\n", name, value.c_str());
    text += buffer;
  };
  const auto figures = [&](const char* key) {
    const auto& spread = json[key];
    std::string all;
    for (const char* name : {"mean", "p50", "p90", "p99", "max"})
      all.append(all.empty() ? "" : "  ").append(name).append(" ").append(spread[name].dump());
    return all;
  };
  for (const char* key : {"requests", "completed", "unfinished", "refused", "retries", "late_answers",
                          "answered_twice", "deaths", "suspicions", "rejoins"})
    line(key, json[key].dump());
  line("latency, ms", figures("latency_ms"));
  line("load / capacity, ms", figures("load_over_capacity_ms"));
  line("load / capacity, p99 / mean", json["load_p99_over_mean"].dump());
  return text;
}

}  // namespace volvox
