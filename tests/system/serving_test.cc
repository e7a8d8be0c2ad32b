// A server under load, from outside: what users do, with what users have.

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/system/server_process.h"

namespace volvox {
namespace {

using nlohmann::json;
using std::chrono::seconds;

class Serving : public testing::Test {
 protected:
  void start_with(const std::string& kind, const std::vector<std::string>& options = {}) {
    ASSERT_NO_FATAL_FAILURE(server_.add_model(kind, "m", options));
    ASSERT_NO_FATAL_FAILURE(server_.start());
  }

  // All answered, none wrong, none twice.
  static void expect_clean(const ServerProcess::Load& load) {
    ASSERT_TRUE(load.command.ok()) << load.command.out << load.command.err;
    ASSERT_TRUE(load.report.is_object());
    EXPECT_GT(load.report["offered"], 0);
    EXPECT_EQ(load.report["completed"], load.report["offered"]) << load.command.out;
    EXPECT_EQ(load.report["errors"], json::object());
    EXPECT_EQ(load.report["wrong"], 0);
    EXPECT_EQ(load.report["duplicates"], 0);
  }

  ServerProcess server_;
};

TEST_F(Serving, AnLstmsAnswersAreRight) {
  ASSERT_NO_FATAL_FAILURE(start_with("lstm", {"--hidden", "48", "--vocabulary", "1000"}));
  const auto load = server_.load("m", {"--rate", "200", "--seconds", "2", "--warmup", "0.2", "--verify",
                                       server_.model("m"), "--verify-count", "200"});
  ASSERT_NO_FATAL_FAILURE(expect_clean(load));
  EXPECT_EQ(load.report["verified"], 200);
  EXPECT_TRUE(load.report["mean_batch"].contains("lstm")) << load.report["mean_batch"];
  EXPECT_GE(load.report["mean_batch"]["lstm"], 1.0);
  EXPECT_GT(load.report["compute_ms"]["p50"], 0.0);
  EXPECT_GE(load.report["latency_ms"]["p99"], load.report["compute_ms"]["p50"]);
  EXPECT_EQ(server_.stop(seconds(5)), (ExitStatus{0, 0})) << server_.log();
}

// The check itself is checked: a reference off by 1 % in one row must disagree.
TEST_F(Serving, AOnePercentErrorInOneWeightRowIsSeen) {
  ASSERT_NO_FATAL_FAILURE(start_with("lstm", {"--hidden", "48", "--vocabulary", "1000"}));
  const std::string altered = server_.scratch().file("altered");
  std::filesystem::copy(server_.model("m"), altered, std::filesystem::copy_options::recursive);
  ASSERT_NO_FATAL_FAILURE(scale_weight_row(altered, "lstm.weight_ih", 2 * 48 + 5, 1.01F));
  const auto load = server_.load("m", {"--concurrency", "8", "--requests", "60", "--warmup", "0", "--verify",
                                       altered, "--verify-count", "60"});
  ASSERT_TRUE(load.report.is_object()) << load.command.err;
  EXPECT_EQ(load.report["completed"], 60);
  EXPECT_EQ(load.report["verified"], 60);
  EXPECT_GT(load.report["wrong"], 0);
  EXPECT_EQ(load.command.status, (ExitStatus{1, 0})) << "wrong answers must fail the command";
}

// Every answer is a hash of all tokens in their order, and every one is compared.
TEST_F(Serving, NoStepIsLostDoubledOrMixedUp) {
  ASSERT_NO_FATAL_FAILURE(start_with("check"));
  const auto load = server_.load("m", {"--concurrency", "48", "--connections", "2", "--requests", "40000",
                                       "--warmup", "0", "--verify", server_.model("m")});
  ASSERT_NO_FATAL_FAILURE(expect_clean(load));
  EXPECT_EQ(load.report["verified"], load.report["completed"]);
  EXPECT_EQ(load.report["completed"], 40000);
}

TEST_F(Serving, LengthsFromAFileAndOpenLoop) {
  ASSERT_NO_FATAL_FAILURE(start_with("check"));
  const std::string lengths = server_.scratch().file("lengths.tsv");
  write_file(lengths, "3\t4\n34\t40\n1\t1\n300\t310\n");
  const auto load = server_.load(
      "m", {"--rate", "300", "--arrivals", "constant", "--seconds", "1", "--warmup", "0", "--lengths",
            lengths, "--column", "target", "--priority", "high", "--verify", server_.model("m")});
  ASSERT_NO_FATAL_FAILURE(expect_clean(load));
  EXPECT_EQ(load.report["offered"], 300);
}

TEST_F(Serving, AnEmptyCellGoesThereAndBack) {
  ASSERT_NO_FATAL_FAILURE(start_with("noop"));
  const auto load = server_.load("m", {"--concurrency", "64", "--seconds", "1", "--warmup", "0.2", "--length",
                                       "1", "--verify", server_.model("m")});
  ASSERT_NO_FATAL_FAILURE(expect_clean(load));
  EXPECT_GT(load.report["throughput_rps"], 100.0);
}

TEST_F(Serving, InferAnswersOneRequest) {
  ASSERT_NO_FATAL_FAILURE(start_with("lstm", {"--hidden", "8", "--vocabulary", "100"}));
  const CommandResult first = server_.infer({{"model", "m"}, {"tokens", {12, 7, 99}}});
  ASSERT_TRUE(first.ok()) << first.err;
  const json answer = json::parse(first.out);
  ASSERT_EQ(answer["outputs"]["h"]["data"].size(), 8U);
  for (const json& value : answer["outputs"]["h"]["data"]) {
    EXPECT_GT(value, -1.0);
    EXPECT_LT(value, 1.0);
    EXPECT_NE(value, 0.0);
  }
  const CommandResult again = server_.infer(
      {{"model", "m"}, {"inputs", {{"tokens", {{"type", "i32"}, {"shape", {3}}, {"data", {12, 7, 99}}}}}}});
  ASSERT_TRUE(again.ok()) << again.err;
  EXPECT_EQ(json::parse(again.out)["outputs"], answer["outputs"]) << "the same request has the same answer";
  const CommandResult other = server_.infer({{"model", "m"}, {"tokens", {7, 12, 99}}});
  ASSERT_TRUE(other.ok());
  EXPECT_NE(json::parse(other.out)["outputs"], answer["outputs"]);
}

TEST_F(Serving, StatusShowsWhatWasDone) {
  ASSERT_NO_FATAL_FAILURE(start_with("check"));
  const auto load =
      server_.load("m", {"--concurrency", "4", "--requests", "40", "--warmup", "0", "--length", "10"});
  ASSERT_NO_FATAL_FAILURE(expect_clean(load));
  const CommandResult result =
      run_volvox({"status", server_.metrics(), "--json", "--interval", "0.2"}, seconds(10));
  ASSERT_TRUE(result.ok()) << result.err;
  const json status = json::parse(result.out);
  EXPECT_TRUE(status["healthy"]);
  EXPECT_TRUE(status["ready"]);
  EXPECT_EQ(status["requests"]["ok"], 40.0);
  EXPECT_EQ(status["in_flight"], 0.0);
  ASSERT_EQ(status["devices"].size(), 1U) << status;
  EXPECT_EQ(status["devices"][0]["cells"], 400.0);
  EXPECT_EQ(status["devices"][0]["live"], 0.0);
  ASSERT_FALSE(status["types"].empty());
  EXPECT_EQ(status["types"][0]["rows"], 400.0);
  EXPECT_GE(status["types"][0]["mean_batch"], 1.0);
  for (const json& pool : status["pools"]) EXPECT_EQ(pool["reserved"], 0.0) << pool;
  EXPECT_EQ(status["rates"]["requests"], 0.0);

  const CommandResult text = run_volvox({"status", server_.metrics(), "--interval", "0"}, seconds(10));
  ASSERT_TRUE(text.ok());
  EXPECT_NE(text.out.find("healthy, ready"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("m/1/check"), std::string::npos) << text.out;
}

TEST_F(Serving, SeveralDevicesShareTheRequests) {
  ASSERT_NO_FATAL_FAILURE(server_.add_model("lstm", "m", {"--hidden", "48", "--vocabulary", "1000"}));
  ASSERT_NO_FATAL_FAILURE(server_.start("[device]\nkind = \"cpu\"\ncount = 2\ncompute_threads = 1\n"));
  const auto load = server_.load("m", {"--concurrency", "48", "--requests", "1000", "--warmup", "0",
                                       "--verify", server_.model("m"), "--verify-count", "1000"});
  ASSERT_NO_FATAL_FAILURE(expect_clean(load));
  EXPECT_EQ(load.report["verified"], 1000);
  const CommandResult result =
      run_volvox({"status", server_.metrics(), "--json", "--interval", "0"}, seconds(10));
  ASSERT_TRUE(result.ok()) << result.err;
  const json status = json::parse(result.out);
  ASSERT_EQ(status["devices"].size(), 2U) << status;
  for (const json& device : status["devices"]) {
    EXPECT_EQ(device["up"], 1.0);
    EXPECT_GT(device["cells"], 1000.0) << status;
  }
  EXPECT_EQ(server_.stop(seconds(5)), (ExitStatus{0, 0})) << server_.log();
}

TEST_F(Serving, SeveralModelsAtOnce) {
  ASSERT_NO_FATAL_FAILURE(server_.add_model("lstm", "a", {"--hidden", "16", "--vocabulary", "50"}));
  ASSERT_NO_FATAL_FAILURE(
      server_.add_model("lstm", "b", {"--hidden", "24", "--vocabulary", "60", "--seed", "2"}));
  ASSERT_NO_FATAL_FAILURE(server_.add_model("check", "c"));
  ASSERT_NO_FATAL_FAILURE(server_.start());
  std::vector<std::unique_ptr<Process>> loads;
  const auto report_of = [&](const std::string& name) { return server_.scratch().file(name + ".json"); };
  for (const std::string name : {"a", "b", "c"}) {
    loads.push_back(std::make_unique<Process>(
        server_.load_command(name,
                             {"--concurrency", "8", "--requests", "200", "--warmup", "0", "--verify",
                              server_.model(name), "--require-all"},
                             report_of(name)),
        server_.scratch(), "load-" + name));
  }
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const auto status = loads[i]->wait(seconds(20) * slowness());
    EXPECT_EQ(status, (ExitStatus{0, 0})) << loads[i]->out() << loads[i]->err();
  }
  for (const std::string name : {"a", "b", "c"}) {
    const json report = json::parse(read_file(report_of(name)), nullptr, false);
    ASSERT_TRUE(report.is_object()) << name;
    EXPECT_EQ(report["completed"], 200) << name;
    EXPECT_GE(report["verified"], 100) << name;
    EXPECT_EQ(report["wrong"], 0) << name;
  }
}

}  // namespace
}  // namespace volvox
