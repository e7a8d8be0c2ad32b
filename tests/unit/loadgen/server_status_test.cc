#include "loadgen/server/server_status.h"

#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace volvox {
namespace {

constexpr const char* kPage = R"(# TYPE volvox_requests_total counter
volvox_requests_total{outcome="ok"} 900
volvox_requests_total{outcome="overloaded"} 4
volvox_requests_total{outcome="internal"} 0
volvox_requests_in_flight 7
volvox_request_total_seconds_sum 9
volvox_request_total_seconds_count 900
volvox_cells_total{device="cpu"} 24000
volvox_tasks_total{device="cpu"} 600
volvox_live_requests{device="cpu"} 6
volvox_batch_rows_bucket{device="cpu",model="m/1",type="lstm",le="+Inf"} 500
volvox_batch_rows_sum{device="cpu",model="m/1",type="lstm"} 20000
volvox_batch_rows_count{device="cpu",model="m/1",type="lstm"} 500
volvox_batch_rows_sum{device="cpu",model="m2/1",type="lstm"} 4000
volvox_batch_rows_count{device="cpu",model="m2/1",type="lstm"} 100
volvox_ready_nodes{device="cpu",model="m/1",type="lstm"} 3
volvox_slots{device="cpu",pool="m/h"} 1000
volvox_slots_used{device="cpu",pool="m/h"} 12
volvox_cpu_seconds_total{where="inside_kernels"} 5.5
volvox_cpu_seconds_total{where="outside_kernels"} 1.5
)";

ServerStatus status_of(const std::string& page) {
  ServerStatus status;
  status.url = "http://127.0.0.1:7101";
  status.healthy = true;
  status.readiness = "ready";
  auto parsed = MetricsPage::parse(page);
  EXPECT_TRUE(parsed.has_value());
  if (parsed) status.page = *parsed;
  return status;
}

TEST(BatchCounts, OfOneModelAndOfAll) {
  const ServerStatus status = status_of(kPage);
  const auto one = batch_counts(status.page, "m");
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one.at("lstm").rows, 20000.0);
  EXPECT_EQ(one.at("lstm").tasks, 500.0);
  EXPECT_EQ(batch_counts(status.page, "m/1").at("lstm").tasks, 500.0);
  EXPECT_TRUE(batch_counts(status.page, "m/2").empty());
  const auto all = batch_counts(status.page, "");
  EXPECT_EQ(all.size(), 2U);
  EXPECT_EQ(all.at("m2/1/lstm").tasks, 100.0);
}

TEST(BatchCounts, MeanIsOfTheTimeBetween) {
  const std::map<std::string, BatchCount> before{{"a", {100, 1000}}, {"idle", {5, 5}}};
  const std::map<std::string, BatchCount> after{{"a", {150, 3000}}, {"idle", {5, 5}}, {"new", {2, 8}}};
  const auto means = mean_batch(before, after);
  EXPECT_EQ(means, (std::map<std::string, double>{{"a", 40.0}, {"new", 4.0}}));
}

TEST(Status, JsonHoldsThePagesNumbers) {
  const ServerStatus status = status_of(kPage);
  const auto json = status_json(status, nullptr, 0);
  EXPECT_TRUE(json["healthy"]);
  EXPECT_TRUE(json["ready"]);
  EXPECT_EQ(json["requests"], (nlohmann::json{{"ok", 900.0}, {"overloaded", 4.0}}));
  EXPECT_EQ(json["in_flight"], 7.0);
  EXPECT_DOUBLE_EQ(json["mean_ms"]["total"], 10.0);
  ASSERT_EQ(json["devices"].size(), 1U);
  EXPECT_EQ(json["devices"][0]["live"], 6.0);
  EXPECT_EQ(json["devices"][0]["cells"], 24000.0);
  ASSERT_EQ(json["types"].size(), 2U);
  EXPECT_EQ(json["types"][0]["mean_batch"], 40.0);
  EXPECT_EQ(json["types"][0]["ready"], 3.0);
  EXPECT_EQ(json["pools"][0]["used"], 12.0);
  EXPECT_EQ(json["cpu_seconds"]["outside_kernels"], 1.5);
  EXPECT_FALSE(json.contains("rates"));
}

TEST(Status, RatesNeedTwoReadings) {
  const ServerStatus earlier = status_of("volvox_requests_total{outcome=\"ok\"} 500\n");
  const auto json = status_json(status_of(kPage), &earlier, 2.0);
  EXPECT_EQ(json["rates"]["requests"], 202.0);
  EXPECT_EQ(json["rates"]["cells"], 12000.0);
}

TEST(Status, TextShowsTheTables) {
  const std::string text = status_text(status_of(kPage), nullptr, 0);
  for (const char* part : {"healthy, ready", "ok", "900", "overloaded", "m/1/lstm", "40.0", "m/h"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(Status, CountsAreWholeNumbersAndTimesHaveMicroseconds) {
  const auto json = status_json(status_of(kPage), nullptr, 0);
  EXPECT_EQ(json["requests"].dump(), R"({"ok":900,"overloaded":4})");
  EXPECT_EQ(json["devices"][0]["cells"].dump(), "24000");
  const auto odd = status_json(status_of("# TYPE volvox_request_total_seconds histogram\n"
                                         "volvox_request_total_seconds_sum 0.000167\n"
                                         "volvox_request_total_seconds_count 1\n"),
                               nullptr, 0);
  EXPECT_EQ(odd["mean_ms"]["total"].dump(), "0.167");
}

TEST(Status, TextIsEightyColumnsWideAndWithoutEmptyTables) {
  std::istringstream lines(status_text(status_of(kPage), nullptr, 0));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  const std::string router =
      status_text(status_of("volvox_requests_total{outcome=\"ok\"} 500\n"), nullptr, 0);
  for (const char* heading : {"device", "cell type", "slots"})
    EXPECT_EQ(router.find(heading), std::string::npos) << router;
}

TEST(Status, TextSaysWhichOfSeveralDevices) {
  EXPECT_EQ(status_text(status_of(kPage), nullptr, 0).find("cpu m/1/lstm"), std::string::npos);
  const std::string other = "volvox_device_up{device=\"cpu:1\"} 0\nvolvox_device_up{device=\"cpu\"} 1\n";
  const std::string text = status_text(status_of(kPage + other), nullptr, 0);
  for (const char* part : {"cpu m/1/lstm", "cpu m/h", "cpu:1 (down)"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(Status, AnEmptyPageIsNoCrash) {
  EXPECT_FALSE(status_text(status_of(""), nullptr, 0).empty());
}

}  // namespace
}  // namespace volvox
