#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "loadgen/report/format.h"
#include "loadgen/sweep/chart.h"
#include "loadgen/sweep/sweep_report.h"

namespace volvox {
namespace {

constexpr int kStepsOfCdf = 200;
constexpr std::size_t kMostTypes = 6;  // so many lines have room and colours

constexpr const char* kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<style>
:root { --ink: #1d2129; --paper: #ffffff; --faint: #d8dce3;
  --c0: #2563a8; --c1: #b3541e; --c2: #2e7d4f; --c3: #8e3b8e; --c4: #7a6a00; --c5: #a02c4d; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7ec; --paper: #15181d; --faint: #343a44;
  --c0: #6ea8e6; --c1: #e8935c; --c2: #6fc48e; --c3: #cf8bcf; --c4: #d1c04a; --c5: #e5799a; } }
body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem; }
svg { width: 100%; height: auto; } text { font: 12px system-ui, sans-serif; fill: var(--ink); }
.grid { stroke: var(--faint); } .limit { stroke: var(--ink); stroke-dasharray: 6 4; } polyline { fill: none; stroke-width: 2; }
.c0 { stroke: var(--c0); } .c1 { stroke: var(--c1); } .c2 { stroke: var(--c2); } .c3 { stroke: var(--c3); } .c4 { stroke: var(--c4); }
.c5 { stroke: var(--c5); } circle.c0 { fill: var(--c0); } circle.c1 { fill: var(--c1); } circle.c2 { fill: var(--c2); }
text.name { stroke: none; font-weight: 600; } text.c0 { fill: var(--c0); } text.c1 { fill: var(--c1); } text.c2 { fill: var(--c2); }
div { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; } td, th { padding: 2px 10px; text-align: right; }
tr { border-bottom: 1px solid var(--faint); } td:last-child, th:last-child { text-align: left; }
</style>
)";

Chart latencies(const std::vector<SweepPoint>& points, const SweepPlan& plan) {
  Chart chart{.title = "Latency against throughput",
              .x_name = "results a second",
              .y_name = "latency, ms",
              .lines = {{"p50", {}, true}, {"p90", {}, true}, {"p99", {}, true}},
              .y_log = true};
  constexpr std::array kFractions{0.5, 0.9, 0.99};
  for (const SweepPoint& point : points) {
    for (std::size_t i = 0; i < kFractions.size(); ++i)
      chart.lines[i].points.emplace_back(point.throughput,
                                         in_ms(point.tally.latency.percentile(kFractions[i])));
  }
  if (plan.slo) {
    chart.y_limit = in_ms(plan.slo->bound);
    chart.y_limit_name = plan.slo->text();
  }
  return chart;
}

ChartLine cdf(const char* name, const DurationHistogram& histogram) {
  ChartLine line{name, {}};
  for (int i = 1; i <= kStepsOfCdf && histogram.count() > 0; ++i) {
    const double fraction = static_cast<double>(i) / kStepsOfCdf;
    line.points.emplace_back(in_ms(histogram.percentile(fraction)), fraction);
  }
  return line;
}

Chart distributions(const SweepPoint& point) {
  return {.title = "How many took no longer",
          .x_name = "ms",
          .y_name = "fraction of the requests",
          .lines = {cdf("in all", point.tally.latency), cdf("queue", point.tally.queue),
                    cdf("compute", point.tally.compute)},
          .x_log = true};
}

// A line for each cell type; a type that ran nothing in a window has no point there.
Chart batches_over_time(const Sweep& sweep) {
  Chart chart{.title = "Batch sizes over time", .x_name = "seconds", .y_name = "rows a task", .lines = {}};
  std::map<std::string, ChartLine> lines;
  for (const SweepBatches& window : sweep.batches()) {
    for (const auto& [type, rows] : window.mean_batch) {
      ChartLine& line = lines.try_emplace(type, ChartLine{type, {}, true}).first->second;
      line.points.emplace_back(window.ended_s, rows);
    }
  }
  for (auto& [type, line] : lines) chart.lines.push_back(std::move(line));
  if (chart.lines.size() > kMostTypes) chart.lines.resize(kMostTypes);
  return chart;
}

std::string table(const std::vector<SweepPoint>& points) {
  std::string html =
      "<div><table><tr><th>rate</th><th>results/s</th><th>p50 ms</th><th>p90 ms</th><th>p99 "
      "ms</th><th></th></tr>\n";
  for (const SweepPoint& point : points) {
    const DurationHistogram& latency = point.tally.latency;
    const char* words = !point.stable     ? "unsteady"
                        : point.saturated ? "saturated"
                        : point.meets_slo ? "meets the SLO"
                                          : "";
    html +=
        formatted("<tr><td>%.1f</td><td>%.1f</td><td>%.3f</td><td>%.3f</td><td>%.3f</td><td>%s</td></tr>\n",
                  point.rate, point.throughput, in_ms(latency.percentile(0.5)),
                  in_ms(latency.percentile(0.9)), in_ms(latency.percentile(0.99)), words);
  }
  return html + "</table></div>\n";
}

}  // namespace

std::string to_html(const Sweep& sweep, const SweepPlan& plan, const std::string& title) {
  const std::vector<SweepPoint> points = sweep.points();
  std::string html = kHead;
  html += "<title>" + escaped(title) + "</title></head>\n<body><h1>" + escaped(title) + "</h1>\n";
  html += formatted("<p>Saturated at %.1f results a second; highest rate with %s: %.1f a second.</p>\n",
                    sweep.saturated_rps(), plan.slo ? plan.slo->text().c_str() : "no saturation",
                    sweep.highest_rps());
  html += "<h2>Latency against throughput</h2>\n" + to_svg(latencies(points, plan)) + "\n";
  const auto best = std::ranges::find(points, sweep.highest_rps(), &SweepPoint::rate);
  if (best != points.end()) {
    html +=
        formatted("<h2>At %.1f requests a second</h2>\n", best->rate) + to_svg(distributions(*best)) + "\n";
  }
  if (const Chart batches = batches_over_time(sweep); !batches.lines.empty())
    html += "<h2>Batch sizes over time</h2>\n" + to_svg(batches) + "\n";
  return html + "<h2>All rates</h2>\n" + table(points) + "</body></html>\n";
}

}  // namespace volvox
