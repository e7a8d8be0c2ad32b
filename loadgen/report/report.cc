#include "loadgen/report/report.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "loadgen/report/format.h"
#include "loadgen/report/percentiles.h"

namespace volvox {
namespace {

nlohmann::json counts_json(const std::map<std::string, std::uint64_t>& counts) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [name, count] : counts) json[name] = count;
  return json;
}

nlohmann::json model_json(const LoadTally& tally) {
  return {{"offered", tally.offered},
          {"completed", tally.completed},
          {"errors", counts_json(tally.errors)},
          {"outcomes", counts_json(tally.outcomes)},
          {"latency_ms", percentiles_ms(tally.latency)}};
}

nlohmann::json agent_json(const AgentReport& agent) {
  return {{"endpoint", agent.endpoint},
          {"state", to_string(agent.state)},
          {"why", agent.why},
          {"share", agent.share},
          {"clock_offset_ms", in_ms(Duration(agent.clock.ns))},
          {"clock_bound_ms", in_ms(Duration(agent.clock.bound_ns))},
          {"offered", agent.offered},
          {"completed", agent.completed},
          {"failed", agent.failed}};
}

double per_second(const LoadOutcome& outcome, std::uint64_t requests) {
  return outcome.seconds > 0 ? static_cast<double>(requests) / outcome.seconds : 0.0;
}

double throughput(const LoadOutcome& outcome) {
  return per_second(outcome, outcome.tally.completed);
}

template <class... Values>
void add_line(std::string& text, const char* format, Values... values) {
  text.append(formatted(format, values...)).push_back('\n');
}

void add_spread(std::string& text, const char* name, const DurationHistogram& histogram) {
  add_line(text, "  %-10s %9.3f %9.3f %9.3f %9.3f", name, in_ms(histogram.percentile(0.5)),
           in_ms(histogram.percentile(0.9)), in_ms(histogram.percentile(0.99)), in_ms(histogram.max()));
}

void add_errors(std::string& text, const LoadTally& tally) {
  for (const auto& [code, count] : tally.errors) {
    const auto example = tally.first_error.find(code);
    add_line(text, "  %-18s %llu (%s)", code.c_str(), static_cast<unsigned long long>(count),
             example == tally.first_error.end() ? "" : example->second.c_str());
  }
}

void add_agents(std::string& text, const LoadSummary& report) {
  for (const AgentReport& agent : report.agents) {
    add_line(text, "agent %s: %s, %.0f %% of the load, clock %+.3f ms (within %.3f ms), %llu results%s%s",
             agent.endpoint.c_str(), std::string(to_string(agent.state)).c_str(), agent.share * 100,
             in_ms(Duration(agent.clock.ns)), in_ms(Duration(agent.clock.bound_ns)),
             static_cast<unsigned long long>(agent.completed), agent.why.empty() ? "" : ": ",
             agent.why.c_str());
  }
  if (is_partial(report))
    add_line(text, "PARTIAL: %.0f %% of the load is missing from these numbers",
             missing_share(report.agents) * 100);
}

void add_verification(std::string& text, const LoadSummary& report) {
  const VerifyOutcome& outcome = report.verification;
  add_line(text, "verified %llu answers: %llu wrong; %llu duplicates",
           static_cast<unsigned long long>(outcome.verified), static_cast<unsigned long long>(outcome.wrong),
           static_cast<unsigned long long>(report.outcome.tally.duplicates));
  if (report.outcome.tally.resent > 0) {
    add_line(text, "sent to another router %llu, late answers dropped %llu",
             static_cast<unsigned long long>(report.outcome.tally.resent),
             static_cast<unsigned long long>(report.outcome.tally.late_answers));
  }
  if (!outcome.first_wrong.empty()) add_line(text, "  %s", outcome.first_wrong.c_str());
}

}  // namespace

nlohmann::json to_json(const LoadSummary& report) {
  const LoadTally& tally = report.outcome.tally;
  nlohmann::json json;
  json["offered"] = tally.offered;
  json["completed"] = tally.completed;
  json["on_time"] = tally.on_time;
  json["errors"] = counts_json(tally.errors);
  json["wrong"] = report.verification.wrong;
  json["verified"] = report.verification.verified;
  json["duplicates"] = tally.duplicates;
  json["resent"] = tally.resent;
  json["late_answers"] = tally.late_answers;
  json["seconds"] = report.outcome.seconds;
  json["throughput_rps"] = throughput(report.outcome);
  json["goodput_rps"] = per_second(report.outcome, tally.on_time);
  json["latency_ms"] = percentiles_ms(tally.latency);
  json["queue_ms"] = percentiles_ms(tally.queue);
  json["compute_ms"] = percentiles_ms(tally.compute);
  json["late_ms"] = percentiles_ms(tally.late);
  json["gap_variance_ratio"] = tally.gaps.variance_ratio();
  json["refused_ms"] = percentiles_ms(tally.refused);
  json["retry_after_ms"] = percentiles_ms(tally.retry_after);
  json["models"] = nlohmann::json::object();
  for (const auto& [model, of_model] : report.models) json["models"][model] = model_json(of_model);
  json["misbehaved"] = {{"sent", report.misbehaved.sent}, {"vanished", report.misbehaved.vanished}};
  json["mean_batch"] = nlohmann::json::object();
  for (const auto& [type, rows] : report.mean_batch) json["mean_batch"][type] = rows;
  if (report.agents.empty()) return json;
  for (const AgentReport& agent : report.agents) json["agents"].push_back(agent_json(agent));
  json["missing_share"] = missing_share(report.agents);
  json["partial"] = is_partial(report);
  return json;
}

std::string to_text(const LoadSummary& report) {
  const LoadTally& tally = report.outcome.tally;
  std::string text;
  add_line(text, "%s at %s: %s, %s", report.model.c_str(), report.endpoint.c_str(), report.arrivals.c_str(),
           report.shapes.c_str());
  add_line(text, "offered %llu, completed %llu, failed %llu in %.2f s: %.1f requests a second",
           static_cast<unsigned long long>(tally.offered), static_cast<unsigned long long>(tally.completed),
           static_cast<unsigned long long>(tally.failed()), report.outcome.seconds,
           throughput(report.outcome));
  add_errors(text, tally);
  add_line(text, "  %-10s %9s %9s %9s %9s", "ms", "p50", "p90", "p99", "max");
  add_spread(text, "latency", tally.latency);
  add_spread(text, "queue", tally.queue);
  add_spread(text, "compute", tally.compute);
  add_spread(text, "sent late", tally.late);
  if (tally.refused.max() > Duration(0)) add_spread(text, "refused", tally.refused);
  if (tally.on_time < tally.completed) {
    add_line(text, "on time %llu: %.1f a second", static_cast<unsigned long long>(tally.on_time),
             per_second(report.outcome, tally.on_time));
  }
  if (report.models.size() > 1) {
    for (const auto& [model, of_model] : report.models) add_spread(text, model.c_str(), of_model.latency);
  }
  for (const auto& [type, rows] : report.mean_batch) {
    add_line(text, "mean batch of %s: %.1f rows", type.c_str(), rows);
  }
  add_verification(text, report);
  add_agents(text, report);
  return text;
}

std::map<std::string, LoadTally> by_model(const RequestMix& mix, const LoadOutcome& outcome) {
  std::map<std::string, LoadTally> models;
  for (std::size_t i = 0; i < outcome.by_class.size(); ++i)
    models[model_name(mix.classes()[i].common)].merge(outcome.by_class[i]);
  return models;
}

bool is_partial(const LoadSummary& report) {
  return std::ranges::any_of(
      report.agents, [](const AgentReport& agent) { return agent.state != AgentReport::State::kDone; });
}

bool is_good(const LoadSummary& report) {
  return report.outcome.tally.completed > 0 && report.verification.wrong == 0 &&
         report.outcome.tally.duplicates == 0;
}

}  // namespace volvox
