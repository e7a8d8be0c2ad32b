#include "loadgen/report/report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace volvox {
namespace {

using std::chrono::milliseconds;

LoadSummary example() {
  LoadSummary report;
  report.model = "lstm";
  LoadTally& tally = report.outcome.tally;
  tally.offered = 103;
  tally.completed = 100;
  tally.errors = {{"OVERLOADED", 2}, {kLost, 1}};
  tally.first_error = {{"OVERLOADED", "come back later"}};
  for (int i = 1; i <= 100; ++i) tally.latency.record(milliseconds(i));
  report.outcome.seconds = 4;
  report.verification = {50, 0, ""};
  report.models["lstm"] = tally;
  report.models["lstm"].outcomes = {{kAnswered, 110}, {"OVERLOADED", 2}, {kLost, 1}};
  report.mean_batch = {{"lstm", 12.5}};
  return report;
}

TEST(Report, HasExactlyTheAgreedKeys) {
  const nlohmann::json json = to_json(example());
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{
                      "completed",   "compute_ms",   "duplicates",     "errors",     "gap_variance_ratio",
                      "goodput_rps", "late_answers", "late_ms",        "latency_ms", "mean_batch",
                      "misbehaved",  "models",       "offered",        "on_time",    "queue_ms",
                      "refused_ms",  "resent",       "retry_after_ms", "seconds",    "throughput_rps",
                      "verified",    "wrong"}));
  for (const char* spread : {"latency_ms", "queue_ms", "compute_ms", "late_ms"}) {
    EXPECT_EQ(json[spread].size(), 4U);
    for (const char* key : {"p50", "p90", "p99", "max"}) EXPECT_TRUE(json[spread][key].is_number());
  }
}

TEST(Report, Values) {
  const nlohmann::json json = to_json(example());
  EXPECT_EQ(json["offered"], 103);
  EXPECT_EQ(json["completed"], 100);
  EXPECT_EQ(json["errors"], (nlohmann::json{{"LOST", 1}, {"OVERLOADED", 2}}));
  EXPECT_EQ(json["throughput_rps"], 25.0);
  EXPECT_NEAR(json["latency_ms"]["p50"].get<double>(), 50.0, 0.1);
  EXPECT_NEAR(json["latency_ms"]["p99"].get<double>(), 99.0, 0.1);
  EXPECT_EQ(json["latency_ms"]["max"], 100.0);
  EXPECT_EQ(json["late_ms"]["max"], 0.0);
  EXPECT_EQ(json["mean_batch"]["lstm"], 12.5);
  EXPECT_EQ(json["models"]["lstm"]["offered"], 103);
  EXPECT_EQ(json["models"]["lstm"]["outcomes"],
            (nlohmann::json{{"LOST", 1}, {"OK", 110}, {"OVERLOADED", 2}}));
  EXPECT_EQ(json["models"]["lstm"]["latency_ms"], json["latency_ms"]);
}

TEST(Report, NothingMeasuredIsStillValidJson) {
  const nlohmann::json json = to_json(LoadSummary{});
  EXPECT_EQ(json["throughput_rps"], 0.0);
  EXPECT_EQ(json["errors"], nlohmann::json::object());
  EXPECT_EQ(json["mean_batch"], nlohmann::json::object());
  EXPECT_EQ(nlohmann::json::parse(json.dump()), json);
}

// A load that agents offered says so; what is missing is not passed over.
TEST(Report, AgentsAndWhatIsMissing) {
  LoadSummary report = example();
  AgentReport done{.endpoint = "tcp://a:1", .state = AgentReport::State::kDone, .share = 0.5};
  done.clock = {1'500'000, 20'000};
  done.offered = 60;
  report.agents = {done, done};
  nlohmann::json json = to_json(report);
  EXPECT_EQ(json["agents"][0]["endpoint"], "tcp://a:1");
  EXPECT_EQ(json["agents"][0]["state"], "done");
  EXPECT_EQ(json["agents"][0]["clock_offset_ms"], 1.5);
  EXPECT_EQ(json["agents"][0]["clock_bound_ms"], 0.02);
  EXPECT_EQ(json["agents"][0]["offered"], 60);
  EXPECT_EQ(json["missing_share"], 0.0);
  EXPECT_FALSE(json["partial"]);
  EXPECT_FALSE(is_partial(report));
  EXPECT_EQ(to_text(report).find("PARTIAL"), std::string::npos);
  report.agents[1].state = AgentReport::State::kMissing;
  report.agents[1].why = "nothing was heard of it";
  json = to_json(report);
  EXPECT_EQ(json["agents"][1]["state"], "missing");
  EXPECT_EQ(json["agents"][1]["why"], "nothing was heard of it");
  EXPECT_EQ(json["missing_share"], 0.5);
  EXPECT_TRUE(json["partial"]);
  EXPECT_NE(to_text(report).find("PARTIAL: 50 %"), std::string::npos) << to_text(report);
  report.agents[1].state = AgentReport::State::kCut;
  EXPECT_TRUE(to_json(report)["partial"]);
  EXPECT_EQ(to_json(report)["missing_share"], 0.0);
}

TEST(Report, TextTellsTheErrors) {
  const std::string text = to_text(example());
  EXPECT_NE(text.find("OVERLOADED"), std::string::npos);
  EXPECT_NE(text.find("come back later"), std::string::npos);
  EXPECT_NE(text.find("25.0 requests a second"), std::string::npos) << text;
}

TEST(Report, GoodMeansSomethingDoneAndNothingWrong) {
  LoadSummary report = example();
  EXPECT_TRUE(is_good(report));
  report.verification.wrong = 1;
  EXPECT_FALSE(is_good(report));
  report.verification.wrong = 0;
  report.outcome.tally.duplicates = 1;
  EXPECT_FALSE(is_good(report));
  EXPECT_FALSE(is_good(LoadSummary{}));
}

}  // namespace
}  // namespace volvox
