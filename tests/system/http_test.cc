// The Open Inference Protocol v2 over HTTP, from outside: a client that knows the specification only, and
// curl.

#include <thread>

#include <gtest/gtest.h>

#include "tests/system/server_process.h"

namespace volvox {
namespace {

using nlohmann::json;
using std::chrono::seconds;

class Http : public testing::Test {
 protected:
  void start_with(const std::string& kind, const std::vector<std::string>& options = {},
                  const std::string& config = "") {
    ASSERT_NO_FATAL_FAILURE(server_.add_model(kind, "m", options));
    ASSERT_NO_FATAL_FAILURE(server_.start(config));
    ASSERT_NE(server_.http(), "") << server_.log();
  }

  CommandResult curl(std::vector<std::string> arguments, const std::string& path) const {
    std::vector<std::string> all{"/usr/bin/curl", "--silent", "--show-error", "--max-time", "30"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    all.push_back(server_.http() + path);
    return run_command(all, seconds(40));
  }

  ServerProcess server_;
};

TEST_F(Http, AClientWrittenFromTheSpecificationPasses) {
  ASSERT_NO_FATAL_FAILURE(server_.add_model("lstm", "floats", {"--hidden", "8", "--vocabulary", "1000"}));
  ASSERT_NO_FATAL_FAILURE(start_with("check"));
  const CommandResult checks =
      run_command({"/usr/bin/python3", "-B", VOLVOX_V2_CLIENT, server_.http(), "m", "floats"}, seconds(60));
  EXPECT_TRUE(checks.ok()) << checks.out << checks.err << server_.log();
  EXPECT_NE(checks.out.find("ok check_many_at_once"), std::string::npos);
  EXPECT_EQ(server_.stop(seconds(5)), (ExitStatus{0, 0})) << server_.log();
}

// As docs/protocol.md shows it.
TEST_F(Http, ACurlSession) {
  ASSERT_NO_FATAL_FAILURE(start_with("lstm", {"--hidden", "8", "--vocabulary", "1000"}));
  EXPECT_TRUE(curl({"--fail"}, "/v2/health/ready").ok());
  const json metadata = json::parse(curl({}, "/v2/models/m").out, nullptr, false);
  ASSERT_TRUE(metadata.is_object());
  EXPECT_EQ(metadata["inputs"][0]["datatype"], "INT32");
  const std::string request =
      R"({"inputs": [{"name": "tokens", "datatype": "INT32", "shape": [3], "data": [12, 7, 301]}]})";
  const CommandResult answered = curl({"--fail", "--json", request}, "/v2/models/m/infer");
  ASSERT_TRUE(answered.ok()) << answered.err << server_.log();
  const json answer = json::parse(answered.out, nullptr, false);
  ASSERT_TRUE(answer.is_object()) << answered.out;
  // The same bits as by the other door.
  const CommandResult other = server_.infer({{"model", "m"}, {"tokens", {12, 7, 301}}});
  ASSERT_TRUE(other.ok()) << other.err;
  const json h = json::parse(other.out)["outputs"]["h"]["data"];
  ASSERT_EQ(answer["outputs"][0]["data"].size(), h.size());
  for (std::size_t i = 0; i < h.size(); ++i)
    EXPECT_EQ(answer["outputs"][0]["data"][i].get<float>(), h[i].get<float>());
}

// What a page in a browser of this machine's user can send, which needs no leave of the server.
TEST_F(Http, APageInABrowserEndsNobodysSequence) {
  ASSERT_NO_FATAL_FAILURE(start_with("check"));
  const auto part = [&](const std::string& flag, std::vector<std::string> headers) {
    const std::string content =
        R"({"parameters": {"sequence_id": 7, ")" + flag +
        R"(": true}, "inputs": [{"name": "tokens", "datatype": "INT32", "shape": [1], "data": [3]}]})";
    std::vector<std::string> arguments{"--write-out", "%{http_code}", "--data", content};
    for (const std::string& header : headers) arguments.insert(arguments.end(), {"--header", header});
    const CommandResult answer = curl(arguments, "/v2/models/m/infer");
    return answer.out.size() < 3 ? answer.out + answer.err : answer.out.substr(answer.out.size() - 3);
  };
  const std::string json = "Content-Type: application/json";
  ASSERT_EQ(part("sequence_start", {json}), "200") << server_.log();
  const std::string page = "Origin: https://evil.example";
  EXPECT_EQ(part("sequence_end", {"Content-Type: text/plain", page, "Sec-Fetch-Site: cross-site"}),
            "403");                                      // a form
  EXPECT_EQ(part("sequence_end", {json, page}), "403");  // a fetch
  EXPECT_EQ(part("sequence_end", {}), "415");            // a form of an old browser; or plain curl
  EXPECT_EQ(part("sequence_end", {json, "Host: evil.example"}), "403");  // a page that rebinds its name
  EXPECT_EQ(part("sequence_end", {json}), "200") << "it was still there";
}

TEST_F(Http, AClientThatDiesAndASignalLeaveNothingHanging) {
  ASSERT_NO_FATAL_FAILURE(start_with("check", {},
                                     "[server]\ndrain_timeout_ms = 200\n[device]\nkind = \"timed\"\n"
                                     "timed_task_us = 500000.0\n"));
  json input{{"name", "tokens"}, {"datatype", "INT32"}, {"shape", {80}}};
  input["data"] = std::vector<int>(80, 1);
  const std::string request = json{{"inputs", {input}}}.dump();
  const std::vector<std::string> command{"/usr/bin/curl", "--silent", "--json", request,
                                         server_.http() + "/v2/models/m/infer"};
  auto dies = std::make_unique<Process>(command, server_.scratch(), "dies");
  Process waits(command, server_.scratch(), "waits");
  const auto until = std::chrono::steady_clock::now() + seconds(20) * slowness();
  const auto progress = [&](const std::string& line) {
    const CommandResult page =
        run_command({"/usr/bin/curl", "--silent", server_.metrics() + "/metrics"}, seconds(10));
    return page.out.find("\n" + line + "\n") != std::string::npos;
  };
  while (!progress("volvox_http_requests_in_progress 2")) ASSERT_LT(std::chrono::steady_clock::now(), until);
  dies.reset();
  while (!progress("volvox_http_clients_gone_total 1")) ASSERT_LT(std::chrono::steady_clock::now(), until);
  EXPECT_EQ(server_.stop(seconds(20)), (ExitStatus{0, 0})) << server_.log();
  ASSERT_TRUE(waits.wait(seconds(10) * slowness()));
  EXPECT_NE(waits.out().find("shut down before the request ended"), std::string::npos) << waits.out();
}

}  // namespace
}  // namespace volvox
