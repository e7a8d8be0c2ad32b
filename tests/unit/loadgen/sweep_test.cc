#include "loadgen/sweep/sweep.h"

#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "loadgen/sweep/chart.h"
#include "loadgen/sweep/sweep_report.h"

namespace volvox {
namespace {

using std::chrono::milliseconds;

// A server that brings so many results a second, and whose latency grows as it comes near to that (M/M/1).
class Server {
 public:
  explicit Server(double capacity) : capacity_(capacity) {}

  LoadOutcome window(double rate) const {
    LoadOutcome outcome;
    const double load = std::min(rate / capacity_, 0.9999);
    outcome.tally.offered = outcome.tally.completed = static_cast<std::uint64_t>(rate);
    outcome.seconds = std::max(1.0, rate / capacity_);
    const double mean_ms = 1 / (1 - load);
    for (int i = 0; i < 1000; ++i) {
      const double fraction = (i + 0.5) / 1000;
      const auto took = Duration(static_cast<Duration::rep>(-std::log(1 - fraction) * mean_ms * 1e6));
      for (std::uint64_t k = 0; k < std::max<std::uint64_t>(outcome.tally.completed / 1000, 1); ++k)
        outcome.tally.latency.record(took);
    }
    return outcome;
  }

 private:
  double capacity_;
};

Sweep swept(const SweepPlan& plan, double capacity, int* windows = nullptr) {
  Sweep sweep(plan);
  const Server server(capacity);
  for (int i = 0; sweep.next_rate(); ++i) {
    EXPECT_LT(i, 300) << "it comes to an end";
    if (i >= 300) break;
    if (windows != nullptr) ++*windows;
    sweep.add(server.window(*sweep.next_rate()));
  }
  return sweep;
}

TEST(Slo, IsRead) {
  const auto slo = parse_slo("p99=50ms");
  ASSERT_TRUE(slo.has_value());
  EXPECT_NEAR(slo->fraction, 0.99, 1e-12);
  EXPECT_EQ(slo->bound, milliseconds(50));
  EXPECT_EQ(slo->text(), "p99 within 50 ms");
  EXPECT_NEAR(parse_slo("p99.9=1.5s")->fraction, 0.999, 1e-12);
  EXPECT_EQ(parse_slo("p99.9=1.5s")->bound, milliseconds(1500));
  EXPECT_EQ(parse_slo("p50=800us")->bound, std::chrono::microseconds(800));
  for (const char* wrong : {"", "p", "p99", "p99=", "99=5ms", "p0=5ms", "p100=5ms", "p99=5", "p99=-5ms",
                            "p99=5m", "p99=nanms", "p99=1e30s", "p99=5ms ", "pinf=5ms"})
    EXPECT_FALSE(parse_slo(wrong).has_value()) << wrong;
}

TEST(Slo, FailuresAreNotInTime) {
  const Slo slo{0.9, milliseconds(10)};
  LoadTally tally;
  EXPECT_FALSE(slo.is_met(tally)) << "nothing was answered";
  tally.offered = tally.completed = 100;
  for (int i = 0; i < 100; ++i) tally.latency.record(milliseconds(i < 95 ? 5 : 50));
  EXPECT_TRUE(slo.is_met(tally));
  tally.offered = 105;
  EXPECT_TRUE(slo.is_met(tally)) << "95 of 105 were in time";
  tally.offered = 107;
  EXPECT_FALSE(slo.is_met(tally)) << "95 of 107 were";
  tally.offered = 1000;
  EXPECT_FALSE(slo.is_met(tally)) << "fewer were answered than should have been in time";
}

TEST(Sweep, FindsWhatAServerTakes) {
  for (const double first : {1000.0, 7000.0, 60000.0}) {
    const Sweep sweep = swept({.first_rate = first}, 20000);
    EXPECT_NEAR(sweep.saturated_rps(), 20000, 1000) << first;
    EXPECT_NEAR(sweep.highest_rps(), 20000, 2000) << first;
  }
}

TEST(Sweep, FindsTheHighestRateThatMeetsTheSlo) {
  // The p99 of M/M/1 is 4.6 times its mean: 20 ms at a mean of 4.34 ms, which is a load of 0.77.
  const SweepPlan plan{.first_rate = 1000, .slo = Slo{0.99, milliseconds(20)}};
  const Sweep sweep = swept(plan, 20000);
  EXPECT_NEAR(sweep.highest_rps(), 0.77 * 20000, 0.06 * 20000);
  EXPECT_NEAR(sweep.saturated_rps(), 20000, 1000) << "and goes on until it knows that, too";
  for (const SweepPoint& point : sweep.points()) {
    EXPECT_EQ(point.meets_slo, point.rate <= sweep.highest_rps()) << point.rate;
    EXPECT_EQ(point.throughputs.size(), 3U);
  }
}

TEST(Sweep, ComesToAnEndWhereNoRateIsGood) {
  int windows = 0;
  const Sweep sweep =
      swept({.first_rate = 5000, .slo = Slo{0.99, std::chrono::microseconds(1)}}, 20000, &windows);
  EXPECT_EQ(sweep.highest_rps(), 0);
  EXPECT_LE(windows, 3 * static_cast<int>(Sweep::kMostPoints));
}

TEST(Sweep, LooksFarBelowTheFirstRateHoweverFarItWentUp) {
  Sweep sweep({.first_rate = 500, .window_s = 10, .slo = Slo{0.99, milliseconds(5)}});
  for (auto rate = sweep.next_rate(); rate; rate = sweep.next_rate()) {
    LoadOutcome window;
    window.tally.offered = static_cast<std::uint64_t>(10 * *rate);
    window.tally.completed = static_cast<std::uint64_t>(10 * std::min(*rate, 8000.0));
    window.seconds = 10;
    for (std::uint64_t i = 0; i < window.tally.completed; ++i)
      window.tally.latency.record(milliseconds(*rate < 50 ? 2 : 8));
    sweep.add(window);
  }
  EXPECT_NEAR(sweep.highest_rps(), 50, 5);
  EXPECT_NEAR(sweep.saturated_rps(), 8000, 400);
}

TEST(Sweep, AServerThatAnswersNothingHasNoGoodRate) {
  Sweep sweep({.first_rate = 10});
  while (const auto rate = sweep.next_rate()) {
    LoadOutcome window;
    window.tally.offered = static_cast<std::uint64_t>(*rate);
    window.seconds = 1;
    sweep.add(window);
  }
  EXPECT_EQ(sweep.points().front().tally.offered, 0U) << "so low a rate that nothing was due";
  EXPECT_EQ(sweep.highest_rps(), 0);
  for (const SweepPoint& point : sweep.points()) EXPECT_TRUE(point.saturated) << point.rate;
}

TEST(Sweep, WaitsUntilWindowsAreWithinTenPercent) {
  Sweep sweep({.first_rate = 1000});
  const auto window = [](double rps) {
    LoadOutcome outcome;
    outcome.tally.offered = 1000;
    outcome.tally.completed = static_cast<std::uint64_t>(rps);
    outcome.seconds = 1;
    return outcome;
  };
  for (const double rps : {500.0, 800.0, 1000.0, 990.0}) {
    sweep.add(window(rps));
    EXPECT_EQ(sweep.next_rate(), 1000) << rps;
    EXPECT_TRUE(sweep.points().empty());
  }
  sweep.add(window(960));
  ASSERT_EQ(sweep.points().size(), 1U);
  const SweepPoint point = sweep.points()[0];
  EXPECT_TRUE(point.stable);
  EXPECT_FALSE(point.saturated);
  EXPECT_NEAR(point.throughput, (1000 + 990 + 960) / 3.0, 1e-9) << "of the three alone";
  for (std::size_t i = 0; i < Sweep::kMostWindows; ++i) sweep.add(window(i % 2 == 0 ? 1000 : 500));
  ASSERT_EQ(sweep.points().size(), 2U);
  EXPECT_FALSE(sweep.points()[1].stable);
  EXPECT_TRUE(sweep.points()[1].saturated) << "a server that is not steady does not keep up";
  EXPECT_NEAR(sweep.saturated_rps(), 983.3, 0.1);
}

TEST(Sweep, OnlyOpenLoopsOfOneRateAreSwept) {
  LoadPlan plan;
  plan.rate = 10;
  plan.measured = std::chrono::seconds(1);
  EXPECT_TRUE(check_sweep(plan).has_value());
  plan.requests = 5;
  EXPECT_FALSE(check_sweep(plan).has_value());
  plan.requests = 0;
  for (const Arrivals arrivals : {Arrivals::kClosed, Arrivals::kCurve, Arrivals::kTrace}) {
    plan.arrivals = arrivals;
    EXPECT_FALSE(check_sweep(plan).has_value());
  }
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(SweepReport, SaysTheSameInAllItsForms) {
  const SweepPlan plan{.first_rate = 4000, .slo = Slo{0.99, milliseconds(20)}};
  const Sweep sweep = swept(plan, 20000);
  const auto points = sweep.points();
  const nlohmann::json json = to_json(sweep, plan);
  EXPECT_EQ(json["points"].size(), points.size());
  EXPECT_EQ(json["highest_rps"], sweep.highest_rps());
  EXPECT_EQ(json["saturated_rps"], sweep.saturated_rps());
  EXPECT_EQ(json["slo"]["bound_ms"], 20);
  for (const char* key :
       {"rate", "throughput_rps", "windows_rps", "stable", "saturated", "meets_slo", "offered", "completed",
        "errors", "latency_ms", "queue_ms", "compute_ms", "late_ms"})
    EXPECT_TRUE(json["points"][0].contains(key)) << key;
  EXPECT_EQ(to_json(swept({.first_rate = 4000}, 20000), {})["slo"], nullptr);
  EXPECT_EQ(count(to_csv(sweep), "\n"), points.size() + 1);
  EXPECT_EQ(count(to_csv(sweep), ","), 11 * (points.size() + 1));
  EXPECT_NE(to_text(sweep, plan).find("p99 within 20 ms"), std::string::npos);
}

TEST(SweepReport, ThePageNeedsNothingElse) {
  const SweepPlan plan{.first_rate = 4000, .slo = Slo{0.99, milliseconds(20)}};
  const Sweep sweep = swept(plan, 20000);
  const std::string page = to_html(sweep, plan, "a <b> & \"c\"");
  EXPECT_EQ(count(page, "<svg"), 2U);
  EXPECT_EQ(count(page, "<circle"), 3 * sweep.points().size()) << "p50, p90 and p99 of each rate";
  EXPECT_NE(page.find("a &lt;b&gt; &amp; &quot;c&quot;"), std::string::npos);
  for (const char* elsewhere : {"http:", "https:", "src=", "href=", "url(", "<script", "nan", "inf"})
    EXPECT_EQ(page.find(elsewhere), std::string::npos) << elsewhere;
  EXPECT_EQ(count(to_html(Sweep({.first_rate = 1}), {}, "nothing"), "<svg"), 1U)
      << "and before anything is known";
}

TEST(SweepReport, BatchesStandWhereTheirWindowsEnded) {
  const Server server(20000);
  Sweep sweep({.first_rate = 1000});
  const auto known = [&](double ended_s, double rows) {
    sweep.add(server.window(1000), {.ended_s = ended_s, .mean_batch = {{"lstm", rows}}});
  };
  known(1, 8);
  known(2, 16);
  sweep.add(server.window(1000), {.ended_s = 3});
  const nlohmann::json json = to_json(sweep, {});
  ASSERT_EQ(json["batches"].size(), 3U);
  EXPECT_EQ(json["batches"][1]["rate"], 1000);
  EXPECT_EQ(json["batches"][1]["ended_s"], 2);
  EXPECT_EQ(json["batches"][1]["mean_batch"]["lstm"], 16);
  EXPECT_TRUE(json["batches"][2]["mean_batch"].empty());
  const std::string page = to_html(sweep, {}, "t");
  EXPECT_NE(page.find("Batch sizes over time"), std::string::npos);
  EXPECT_EQ(count(to_html(swept({.first_rate = 4000}, 20000), {}, "t"), "Batch sizes"), 0U);
}

TEST(Chart, ValuesAreWhereTheAxesSay) {
  const std::string svg = to_svg({.title = "t",
                                  .x_name = "x",
                                  .y_name = "y",
                                  .lines = {{"l", {{0, 1}, {5, 10}, {10, 100}}}},
                                  .y_log = true});
  // From left to right over the whole width, and a decade each of the height.
  EXPECT_NE(svg.find("points=\"70.0,330.0 405.0,183.0 740.0,36.0 \""), std::string::npos) << svg;
  EXPECT_EQ(count(to_svg({.title = "t",
                          .x_name = "x",
                          .y_name = "y",
                          .lines = {{"l", {{1, 0}, {1, -1}}, true}},
                          .y_log = true}),
                  "<circle"),
            0U)
      << "what a logarithm does not have is left out";
}

}  // namespace
}  // namespace volvox
