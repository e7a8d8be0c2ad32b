// What goes wrong in practice: bad requests, dying servers, dying clients, servers that are told to go.

#include <memory>
#include <thread>

#include <gtest/gtest.h>
#include <zmq.h>

#include "tests/system/server_process.h"

namespace volvox {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

class Failures : public testing::Test {
 protected:
  void start_with(const std::string& kind, const std::vector<std::string>& options = {},
                  const std::string& config = "") {
    ASSERT_NO_FATAL_FAILURE(server_.add_model(kind, "m", options));
    ASSERT_NO_FATAL_FAILURE(server_.start(config));
  }

  // A load that goes on beside the test.
  std::unique_ptr<Process> load_beside(const std::vector<std::string>& options) {
    return std::make_unique<Process>(server_.load_command("m", options, report_file()), server_.scratch(),
                                     "beside");
  }
  std::string report_file() const { return server_.scratch().file("beside.json"); }

  json report() const { return json::parse(read_file(report_file()), nullptr, false); }

  void expect_alive() {
    const CommandResult answer = server_.infer({{"model", "m"}, {"tokens", {1, 2, 3}}});
    EXPECT_TRUE(answer.ok()) << answer.err << server_.log();
    EXPECT_TRUE(server_.process().running());
  }

  ServerProcess server_;
};

TEST_F(Failures, BadRequestsGetTypedErrorsAndTheServerGoesOn) {
  ASSERT_NO_FATAL_FAILURE(start_with("lstm", {"--hidden", "8", "--vocabulary", "100"}));
  const std::pair<json, const char*> cases[] = {
      {{{"model", "nobody"}, {"tokens", {1}}}, "MODEL_NOT_FOUND"},
      {{{"model", "m"}, {"version", 9}, {"tokens", {1}}}, "MODEL_NOT_FOUND"},
      {{{"model", "m"}, {"tokens", {100}}}, "INVALID_ARGUMENT"},
      {{{"model", "m"}, {"tokens", {-1}}}, "INVALID_ARGUMENT"},
      {{{"model", "m"}, {"tokens", json::array()}}, "INVALID_ARGUMENT"},
      {{{"model", "m"}, {"length", 3}}, "INVALID_ARGUMENT"},
      {{{"model", "m"}, {"tokens", {1, 2}}, {"length", 3}}, "INVALID_ARGUMENT"},
      {{{"model", "m"}, {"length", 2}, {"inputs", {{"words", {{"data", {1, 2}}}}}}}, "INVALID_ARGUMENT"},
      {{{"model", "m"}, {"inputs", {{"tokens", {{"type", "f32"}, {"data", {1, 2}}}}}}}, "INVALID_ARGUMENT"},
      {{{"model", "m"}, {"tokens", {1}}, {"outputs", {"z"}}}, "INVALID_ARGUMENT"},
      {{{"model", "m"}, {"tokens", std::vector<int>(5000, 1)}}, "INVALID_ARGUMENT"},
  };
  for (const auto& [request, code] : cases) {
    const CommandResult result = server_.infer(request);
    ASSERT_TRUE(result.in_time) << request.dump();
    EXPECT_EQ(result.status, (ExitStatus{1, 0})) << request.dump();
    const json answer = json::parse(result.out, nullptr, false);
    ASSERT_TRUE(answer.is_object() && answer.contains("error")) << result.out;
    EXPECT_EQ(answer["error"]["code"], code) << request.dump() << answer;
    EXPECT_FALSE(answer["error"]["message"].get<std::string>().empty());
  }
  expect_alive();
}

TEST_F(Failures, GarbageOnTheSocketHarmsNobody) {
  ASSERT_NO_FATAL_FAILURE(start_with("check"));
  const auto load = load_beside(
      {"--rate", "100", "--seconds", "2", "--warmup", "0", "--verify", server_.model("m"), "--require-all"});
  void* context = zmq_ctx_new();
  void* socket = zmq_socket(context, ZMQ_DEALER);
  const int linger = 0;
  zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger);
  ASSERT_EQ(zmq_connect(socket, server_.endpoint().c_str()), 0);
  std::uint64_t state = 1;
  for (int i = 0; i < 2000; ++i) {
    const int frames = 1 + i % 4;
    for (int frame = 0; frame < frames; ++frame) {
      std::string bytes(state % 700, '\0');
      for (char& byte : bytes) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        byte = static_cast<char>(state >> 56);
      }
      zmq_send(socket, bytes.data(), bytes.size(), frame + 1 < frames ? ZMQ_SNDMORE : 0);
    }
  }
  EXPECT_EQ(load->wait(seconds(20) * slowness()), (ExitStatus{0, 0})) << load->out() << load->err();
  zmq_close(socket);
  zmq_ctx_term(context);
  expect_alive();
}

TEST_F(Failures, SigtermUnderLoadDrains) {
  ASSERT_NO_FATAL_FAILURE(start_with("lstm", {"--hidden", "64", "--vocabulary", "100"}));
  const auto load = load_beside({"--rate", "300", "--seconds", "3", "--warmup", "0", "--timeout", "3",
                                 "--verify", server_.model("m"), "--verify-count", "50"});
  ASSERT_NO_FATAL_FAILURE(server_.wait_for_answers());
  EXPECT_EQ(server_.stop(seconds(8)), (ExitStatus{0, 0})) << server_.log();
  ASSERT_TRUE(load->wait(seconds(15) * slowness()).has_value()) << "the client must end as well";
  const json report = this->report();
  ASSERT_TRUE(report.is_object()) << load->err();
  EXPECT_GT(report["completed"], 0);
  EXPECT_EQ(report["wrong"], 0);
  EXPECT_EQ(report["duplicates"], 0);
  std::uint64_t answered = report["completed"].get<std::uint64_t>();
  for (const auto& [code, count] : report["errors"].items()) {
    EXPECT_EQ(code, "UNAVAILABLE") << report["errors"];
    answered += count.get<std::uint64_t>();
  }
  EXPECT_EQ(answered, report["offered"]) << "everything is answered or refused by name";
}

TEST_F(Failures, ADeadServerEndsTheClientInBoundedTime) {
  ASSERT_NO_FATAL_FAILURE(start_with("lstm", {"--hidden", "64", "--vocabulary", "100"}));
  const auto load = load_beside(
      {"--concurrency", "32", "--seconds", "3", "--warmup", "0", "--timeout", "2", "--vocabulary", "100"});
  ASSERT_NO_FATAL_FAILURE(server_.wait_for_answers());
  server_.process().send(SIGKILL);
  ASSERT_TRUE(load->wait(seconds(8) * slowness()).has_value()) << "the client hangs";
  const json report = this->report();
  ASSERT_TRUE(report.is_object()) << load->err();
  EXPECT_GT(report["errors"].value("UNAVAILABLE", 0), 0) << report;
  std::uint64_t answered = report["completed"].get<std::uint64_t>();
  for (const auto& [code, count] : report["errors"].items()) answered += count.get<std::uint64_t>();
  EXPECT_EQ(answered, report["offered"]);
}

TEST_F(Failures, ADeadClientDoesNotTroubleTheServer) {
  ASSERT_NO_FATAL_FAILURE(start_with("check"));
  for (int i = 0; i < 3; ++i) {
    const auto load =
        load_beside({"--concurrency", "64", "--seconds", "20", "--warmup", "0", "--length", "300"});
    ASSERT_NO_FATAL_FAILURE(server_.wait_for_answers());
    load->send(SIGKILL);
    ASSERT_EQ(load->wait(seconds(5)), (ExitStatus{-1, SIGKILL}));
  }
  const auto load = server_.load("m", {"--concurrency", "16", "--requests", "200", "--warmup", "0",
                                       "--verify", server_.model("m"), "--require-all"});
  EXPECT_TRUE(load.command.ok()) << load.command.out << load.command.err;
  // Nothing of the dead clients' requests is left.
  for (int i = 0;; ++i) {
    const CommandResult result =
        run_volvox({"status", server_.metrics(), "--json", "--interval", "0"}, seconds(10));
    const json status = json::parse(result.out);
    double held = status["in_flight"].get<double>();
    for (const json& pool : status["pools"]) held += pool["reserved"].get<double>();
    if (held == 0) break;
    ASSERT_LT(i, 100) << status.dump(2);
    std::this_thread::sleep_for(milliseconds(50));
  }
}

TEST_F(Failures, AnInterruptedLoadStillReports) {
  ASSERT_NO_FATAL_FAILURE(start_with("check"));
  const auto load = load_beside({"--rate", "200", "--seconds", "60", "--warmup", "0"});
  ASSERT_NO_FATAL_FAILURE(server_.wait_for_answers());
  load->send(SIGINT);
  EXPECT_EQ(load->wait(seconds(5) * slowness()), (ExitStatus{0, 0})) << load->err();
  const json report = this->report();
  ASSERT_TRUE(report.is_object());
  EXPECT_GT(report["completed"], 0);
  EXPECT_EQ(report["completed"], report["offered"]);
}

TEST_F(Failures, ADeadlineThatCannotBeMetIsSaidSo) {
  ASSERT_NO_FATAL_FAILURE(start_with("lstm", {"--hidden", "256", "--vocabulary", "100"}));
  for (const char* deadline_ms : {"5", "0.001"}) {
    const auto load =
        server_.load("m", {"--concurrency", "64", "--requests", "200", "--warmup", "0", "--length", "2000",
                           "--vocabulary", "100", "--deadline-ms", deadline_ms, "--timeout", "10"});
    ASSERT_TRUE(load.report.is_object()) << load.command.err;
    EXPECT_GT(load.report["errors"].value("DEADLINE_EXCEEDED", 0), 0) << load.report;
    EXPECT_FALSE(load.report["errors"].contains("LOST")) << load.report;
  }
  expect_alive();
}

TEST_F(Failures, MoreThanTheLimitIsRefusedAtOnce) {
  ASSERT_NO_FATAL_FAILURE(start_with("lstm", {"--hidden", "256", "--vocabulary", "100"},
                                     "[limits]\nmax_requests_in_flight = 8\n"));
  const auto load = server_.load("m", {"--concurrency", "64", "--requests", "300", "--warmup", "0",
                                       "--length", "500", "--vocabulary", "100", "--timeout", "5"});
  ASSERT_TRUE(load.report.is_object()) << load.command.err;
  EXPECT_GT(load.report["errors"].value("OVERLOADED", 0), 0) << load.report;
  EXPECT_FALSE(load.report["errors"].contains("LOST")) << load.report;
  EXPECT_GT(load.report["completed"], 0);
  expect_alive();
}

TEST_F(Failures, NobodyThereIsAnError) {
  const CommandResult infer = run_volvox({"infer", "--connect", "tcp://127.0.0.1:1", "--timeout", "1"},
                                         seconds(15), R"({"model":"m","tokens":[1]})");
  EXPECT_EQ(infer.status, (ExitStatus{1, 0}));
  EXPECT_EQ(json::parse(infer.out)["error"]["code"], "UNAVAILABLE");
  const CommandResult load =
      run_volvox({"load", "--connect", "tcp://127.0.0.1:1", "--model", "m", "--rate", "1"}, seconds(15));
  EXPECT_EQ(load.status, (ExitStatus{1, 0}));
  EXPECT_NE(load.err.find("UNAVAILABLE"), std::string::npos);
  const CommandResult status = run_volvox({"status", "http://127.0.0.1:1"}, seconds(15));
  EXPECT_EQ(status.status, (ExitStatus{1, 0}));
  EXPECT_NE(status.err.find("UNAVAILABLE"), std::string::npos);
}

TEST_F(Failures, ABrokenModelIsNamedAtTheStart) {
  ASSERT_NO_FATAL_FAILURE(server_.add_model("lstm", "m", {"--hidden", "8", "--vocabulary", "100"}));
  const std::string weights = server_.model("m") + "/1/weights.safetensors";
  write_file(weights, read_file(weights).substr(0, 500));
  const CommandResult serve = run_volvox(
      {"serve", "--models", server_.models(), "--listen", "tcp://127.0.0.1:0", "--metrics", "127.0.0.1:0"},
      seconds(10));
  ASSERT_TRUE(serve.in_time) << "a server without its model must not start";
  EXPECT_NE(serve.status, (ExitStatus{0, 0}));
  EXPECT_EQ(serve.status.signal, 0);
  EXPECT_NE((serve.err + serve.out).find("weights.safetensors"), std::string::npos) << serve.err << serve.out;
}

}  // namespace
}  // namespace volvox
