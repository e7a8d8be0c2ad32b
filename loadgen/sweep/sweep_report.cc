#include "loadgen/sweep/sweep_report.h"

#include <nlohmann/json.hpp>

#include "loadgen/report/format.h"
#include "loadgen/report/percentiles.h"

namespace volvox {
namespace {

const char* verdict(const SweepPoint& point, const SweepPlan& plan) {
  if (!point.stable) return "unsteady";
  if (point.saturated) return "saturated";
  if (!plan.slo) return "keeps up";
  return point.meets_slo ? "meets the SLO" : "misses the SLO";
}

}  // namespace

nlohmann::json to_json(const Sweep& sweep, const SweepPlan& plan) {
  nlohmann::json json{{"points", nlohmann::json::array()}, {"saturated_rps", sweep.saturated_rps()}};
  json["highest_rps"] = sweep.highest_rps();
  json["slo"] = nullptr;
  if (plan.slo) json["slo"] = {{"fraction", plan.slo->fraction}, {"bound_ms", in_ms(plan.slo->bound)}};
  for (const SweepPoint& point : sweep.points()) {
    json["points"].push_back({{"rate", point.rate},
                              {"throughput_rps", point.throughput},
                              {"windows_rps", point.throughputs},
                              {"stable", point.stable},
                              {"saturated", point.saturated},
                              {"meets_slo", point.meets_slo},
                              {"offered", point.tally.offered},
                              {"completed", point.tally.completed},
                              {"errors", point.tally.errors},
                              {"latency_ms", percentiles_ms(point.tally.latency)},
                              {"queue_ms", percentiles_ms(point.tally.queue)},
                              {"compute_ms", percentiles_ms(point.tally.compute)},
                              {"late_ms", percentiles_ms(point.tally.late)}});
  }
  json["batches"] = nlohmann::json::array();
  for (const SweepBatches& window : sweep.batches()) {
    json["batches"].push_back(
        {{"ended_s", window.ended_s}, {"rate", window.rate}, {"mean_batch", window.mean_batch}});
  }
  return json;
}

std::string to_csv(const Sweep& sweep) {
  std::string text =
      "rate,throughput_rps,p50_ms,p90_ms,p99_ms,max_ms,offered,completed,windows,stable,saturated,meets_"
      "slo\n";
  for (const SweepPoint& point : sweep.points()) {
    const DurationHistogram& latency = point.tally.latency;
    text += formatted("%.3f,%.3f,%.4f,%.4f,%.4f,%.4f,%llu,%llu,%zu,%d,%d,%d\n", point.rate, point.throughput,
                      in_ms(latency.percentile(0.5)), in_ms(latency.percentile(0.9)),
                      in_ms(latency.percentile(0.99)), in_ms(latency.max()),
                      static_cast<unsigned long long>(point.tally.offered),
                      static_cast<unsigned long long>(point.tally.completed), point.throughputs.size(),
                      point.stable, point.saturated, point.meets_slo);
  }
  return text;
}

std::string to_text(const Sweep& sweep, const SweepPlan& plan) {
  std::string text = "      rate   results/s    p50 ms    p90 ms    p99 ms\n";
  for (const SweepPoint& point : sweep.points()) {
    const DurationHistogram& latency = point.tally.latency;
    text += formatted("%10.1f  %10.1f %9.3f %9.3f %9.3f  %s\n", point.rate, point.throughput,
                      in_ms(latency.percentile(0.5)), in_ms(latency.percentile(0.9)),
                      in_ms(latency.percentile(0.99)), verdict(point, plan));
  }
  text += formatted("saturated at %.1f results a second\n", sweep.saturated_rps());
  const std::string what = plan.slo ? plan.slo->text() : "no saturation";
  return text + formatted("highest rate with %s: %.1f a second\n", what.c_str(), sweep.highest_rps());
}

}  // namespace volvox
