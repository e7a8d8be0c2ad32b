#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/simulation/bench_fixture.h"

namespace volvox {
namespace {

// Every decoder goes as far as it may.
TEST_F(Bench, EngineWithAModelOfAKind) {
  const auto json = report(
      "engine --kind seq2seq --hidden 8 --steps 3 --seconds 0.1 --warm-up 0.05 --repeat 1 --policy "
      "cellular:8");
  ASSERT_EQ(json["runs"].size(), 1U);
  EXPECT_EQ(json["model"], "seq2seq");
  EXPECT_GT(json["runs"][0]["completed"], 0);
  EXPECT_EQ(json["runs"][0]["failed"], 0);
  EXPECT_EQ(json["runs"][0]["mismatched"], 0);
}

TEST_F(Bench, Engine) {
  const auto json = report(
      "engine --hidden 32 --seconds 0.1 --warm-up 0.05 --repeat 2 --max-batch 8 --threads 1 --rate-of "
      "padded:0.5");
  EXPECT_GT(json["fma_peak_gflops"], 0);
  ASSERT_EQ(json["runs"].size(), 4U) << "two policies, saturated and at half of padded's rate";
  for (const auto& run : json["runs"]) {
    for (const char* key :
         {"throughput_rps", "mean_batch", "useful_gflops", "executed_gflops", "rows_moved_ratio"}) {
      expect_measured(run[key], key);
    }
    for (const char* key : {"p50", "p90", "p99", "max"}) expect_measured(run["latency_ms"][key], key);
    EXPECT_EQ(run["max_batch"], 8);
    EXPECT_EQ(run["mismatched"], 0);
    EXPECT_EQ(run["failed"], 0);
    if (run["load"] == "backlog") {
      EXPECT_GT(run["completed"], 0);
      EXPECT_GT(run["useful_gflops"]["median"], 0);
    } else {
      expect_measured(run["offered_rps"], "offered_rps");
    }
  }
  EXPECT_EQ(json["runs"][0]["policy"], "cellular");
  EXPECT_EQ(json["runs"][1]["policy"], "padded");
  EXPECT_EQ(json["runs"][1]["bucket_width"], 10);
}

TEST_F(Bench, EngineOnTheTimedDevice) {
  const auto json =
      report("engine --device timed --hidden 32 --seconds 0.1 --warm-up 0.05 --repeat 1 --rate 200");
  EXPECT_TRUE(json["fma_peak_gflops"].is_null());
  ASSERT_EQ(json["runs"].size(), 2U);
  expect_measured(json["runs"][0]["latency_ms"]["p90"], "p90");
}

TEST_F(Bench, KeepsSoManyInFlight) {
  const auto json = report(
      "engine --device timed --hidden 8 --in-flight 1 3 --seconds 0.1 --warm-up 0.05 --repeat 1 --policy "
      "cellular:8");
  ASSERT_EQ(json["runs"].size(), 2U) << "and no backlog that nobody asked for";
  EXPECT_EQ(json["runs"][0]["load"], "1 in flight");
  EXPECT_EQ(json["runs"][0]["mean_batch"]["median"], 1.0);
  EXPECT_EQ(json["runs"][1]["load"], "3 in flight");
  EXPECT_LE(json["runs"][1]["mean_batch"]["median"], 3.0);
  for (const auto& run : json["runs"]) {
    EXPECT_GT(run["completed"], 0);
    EXPECT_GT(run["latency_ms"]["p50"]["median"], 0);
    EXPECT_TRUE(run["offered_rps"].is_null());
  }
}

TEST_F(Bench, EngineOnAGpuThatComputesNothing) {
  for (const char* kind : {"lstm", "seq2seq"}) expect_to_run_without_a_gpu(kind);
}

TEST_F(Bench, LiveCalls) {
  const auto json = report(
      "engine --device timed --hidden 8 --calls 20 40 --period-ms 10 --seconds 0.5 --warm-up 0.1 --repeat 1");
  ASSERT_EQ(json["runs"].size(), 2U) << "one policy runs sessions";
  for (const auto& run : json["runs"]) {
    for (const char* key : {"late_fraction", "cpu_share", "mean_batch"}) expect_measured(run[key], key);
    EXPECT_EQ(run["policy"], "cellular");
    EXPECT_EQ(run["mismatched"], 0);
    EXPECT_GT(run["latency_ms"]["p50"]["median"], 0);
  }
  EXPECT_EQ(json["runs"][1]["load"], "40 calls");
  EXPECT_EQ(json["runs"][1]["offered_rps"]["median"], 4000.0);
  EXPECT_EQ(json["runs"][0]["completed"].get<int>() + json["runs"][0]["unfinished"].get<int>(), 20 * 50);
  EXPECT_NE(run("engine --hidden 8 --calls 5 --rate 10"), 0);
  EXPECT_THAT(read("err"), ::testing::HasSubstr("calls"));
  EXPECT_NE(run("engine --hidden 8 --calls 5 --policy padded"), 0);
  EXPECT_THAT(read("err"), ::testing::HasSubstr("cellular"));
}

TEST_F(Bench, CallsNeedAModelOfSessions) {
  const std::string model = (folder_ / "both").string();
  ASSERT_TRUE(write_new_model({.path = model}, "bidirectional", {.hidden = 8, .vocabulary = 50}));
  EXPECT_NE(run("engine --model " + model + " --calls 5 --seconds 0.1 --repeat 1"), 0);
  EXPECT_THAT(read("err"), ::testing::HasSubstr("sessions"));
}

TEST_F(Bench, Scheduler) {
  const auto json = report("scheduler --live 500 --cells 40000 --warm-up-cells 20000 --repeat 1");
  for (const char* key : {"chain_64", "chain_512", "tree_64", "lattice_64"})
    EXPECT_GT(json["ns_per_cell"][key], 0) << key;
  EXPECT_GT(json["ns_per_request"], 0);
  EXPECT_TRUE(json["allocations_per_task"].is_number());
  EXPECT_GT(json["cases"]["chain_64"]["cancelled"], 0);
}

TEST_F(Bench, Kernel) {
  const auto json =
      report("kernel --hidden 16 --batch 1 4 --threads 1 --isa auto portable --seconds 0.002 --repeat 1");
  ASSERT_EQ(json["lstm"].size(), 4U);
  for (const auto& row : json["lstm"]) {
    EXPECT_EQ(row["hidden"], 16);
    EXPECT_EQ(row["threads"], 1);
    EXPECT_TRUE(row["isa"].is_string());
    EXPECT_GT(row["step_us"], 0);
    EXPECT_GT(row["gflops"], 0);
    EXPECT_TRUE(row["onednn_us"].is_null() || row["onednn_us"] > 0);
  }
}

TEST_F(Bench, SaysWhatIsWrong) {
  EXPECT_EQ(run("--help"), 0);
  EXPECT_NE(run(""), 0);
  EXPECT_NE(run("engine --lengths /not/there --hidden 8 --seconds 0.1"), 0);
  EXPECT_THAT(read("err"), ::testing::HasSubstr("/not/there"));
  EXPECT_NE(run("engine --policy fifo --hidden 8"), 0);
  EXPECT_THAT(read("err"), ::testing::HasSubstr("fifo"));
  EXPECT_NE(run("engine --model /not/there --seconds 0.1"), 0);
  EXPECT_NE(run("engine --kind abacus --seconds 0.1"), 0);
  EXPECT_NE(run("engine --kind lstm --model /not/there --seconds 0.1"), 0);
  EXPECT_NE(run("scheduler --case forest_3"), 0);
}

TEST_F(Bench, CellByCellNeedsNoMoreBatchesThanTheAgenda) {
  for (const char* kind : {"bidirectional", "tagger", "crf_tagger", "classifier", "seq2seq",
                           "attention_seq2seq", "lattice_lstm", "char_tagger"})
    expect_no_more_batches_than_the_agenda(kind);
}

}  // namespace
}  // namespace volvox
