// A router and its nodes as processes of their own: what clients see when nodes come, die, stand still and
// go.

#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "loadgen/http_get.h"
#include "tests/system/process.h"

namespace volvox {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

class Cluster : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(models());
    const CommandResult made =
        run_volvox({"models", "new-check", models() + "/m", "--max-batch", "32"}, seconds(20));
    ASSERT_TRUE(made.ok()) << made.err;
    router_ = std::make_unique<Process>(
        std::vector<std::string>{volvox_binary(), "router", "--listen", "tcp://127.0.0.1:0", "--metrics",
                                 "127.0.0.1:0", "--cluster-listen", "127.0.0.1:0", "--http", "",
                                 "--port-file", file("router")},
        scratch_, "router-log");
    ASSERT_NO_FATAL_FAILURE(wait_until("the router is ready", [&] { return read_ports(); }));
  }

  void start_node(const std::string& name, const std::string& cluster = "volvox") {
    nodes_[name] = std::make_unique<Process>(
        std::vector<std::string>{volvox_binary(), "node", "--config", node_config(), "--models", models(),
                                 "--name", name, "--cluster", cluster, "--routers", dial_, "--listen",
                                 "tcp://127.0.0.1:0", "--metrics", "", "--http", ""},
        scratch_, name);
  }

  // A task takes 2 ms, so that a request of 24 steps is under way for some 50 ms.
  std::string node_config() const {
    write_file(file("node.toml"), "[device]\nkind = \"timed\"\ntimed_task_us = 2000.0\ntimed_row_us = 0.0\n");
    return file("node.toml");
  }

  void wait_for_members(int members) {
    ASSERT_NO_FATAL_FAILURE(
        wait_until("the members are there", [&] { return metric("volvox_cluster_members") == members; }));
  }

  template <class Condition>
  void wait_until(const char* what, Condition condition) {
    const auto until = std::chrono::steady_clock::now() + seconds(20) * slowness();
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), until) << "not in time: " << what << "\n" << logs();
      std::this_thread::sleep_for(milliseconds(20));
    }
  }

  // A number on the router's page; −1 if it is not there.
  double metric(const std::string& name) const {
    std::istringstream page(http_get(metrics_ + "/metrics", seconds(5)).value_or(HttpResponse{}).body);
    for (std::string line; std::getline(page, line);)
      if (line.starts_with(name + " ")) return std::stod(line.substr(name.size() + 1));
    return -1;
  }

  void start_load(const std::string& rate, const std::string& duration) {
    load_ = std::make_unique<Process>(
        std::vector<std::string>{volvox_binary(), "load", "--connect", endpoint_, "--model", "m", "--length",
                                 "24", "--rate", rate, "--seconds", duration, "--warmup", "0", "--verify",
                                 models() + "/m", "--json", file("load.json"), "--require-all"},
        scratch_, "load");
  }

  void expect_all_answered() {
    const auto ended = load_->wait(seconds(30) * slowness());
    ASSERT_TRUE(ended) << logs();
    const json report = json::parse(read_file(file("load.json")), nullptr, false);
    ASSERT_TRUE(report.is_object()) << load_->out() << load_->err();
    EXPECT_GT(report["completed"], 0);
    EXPECT_EQ(report["completed"], report["offered"]) << report << logs();
    EXPECT_EQ(report["wrong"], 0);
    EXPECT_EQ(report["duplicates"], 0);
    EXPECT_EQ(*ended, (ExitStatus{0, 0}));
  }

  Process& node(const std::string& name) { return *nodes_[name]; }
  std::string logs() const {
    std::string text = "router:\n" + router_->err();
    for (const auto& [name, process] : nodes_) text += name + ":\n" + process->err();
    return text;
  }
  std::string file(const std::string& name) const { return scratch_.file(name); }
  std::string models() const { return file("models"); }

  bool read_ports() {
    std::istringstream lines(read_file(file("router")));
    return static_cast<bool>(std::getline(lines, endpoint_) && std::getline(lines, metrics_) &&
                             std::getline(lines, dial_));
  }

  ScratchFolder scratch_;
  std::unique_ptr<Process> router_, load_;
  std::map<std::string, std::unique_ptr<Process>> nodes_;
  std::string endpoint_, metrics_, dial_;
};

TEST_F(Cluster, NothingIsLostWhenANodeIsKilled) {
  start_node("a");
  start_node("b");
  ASSERT_NO_FATAL_FAILURE(wait_for_members(2));
  start_load("300", "4");
  ASSERT_NO_FATAL_FAILURE(
      wait_until("requests are in flight", [&] { return metric("volvox_cluster_requests_in_flight") >= 8; }));
  node("a").send(SIGKILL);
  expect_all_answered();
  EXPECT_GT(metric("volvox_cluster_retries_total"), 0);
  EXPECT_EQ(metric("volvox_cluster_members"), 1);
}

TEST_F(Cluster, ANodeThatStoodStillIsReplacedAndJoinsAfresh) {
  start_node("a");
  start_node("b");
  ASSERT_NO_FATAL_FAILURE(wait_for_members(2));
  start_load("200", "4");
  ASSERT_NO_FATAL_FAILURE(
      wait_until("requests are in flight", [&] { return metric("volvox_cluster_requests_in_flight") >= 8; }));
  node("a").send(SIGSTOP);
  ASSERT_NO_FATAL_FAILURE(wait_for_members(1));
  node("a").send(SIGCONT);
  ASSERT_NO_FATAL_FAILURE(wait_for_members(2));
  expect_all_answered();
}

TEST_F(Cluster, ANodeThatIsToldToStopFinishesAndLeaves) {
  start_node("a");
  start_node("b");
  ASSERT_NO_FATAL_FAILURE(wait_for_members(2));
  start_load("200", "3");
  ASSERT_NO_FATAL_FAILURE(
      wait_until("requests are in flight", [&] { return metric("volvox_cluster_requests_in_flight") >= 4; }));
  node("a").send(SIGTERM);
  EXPECT_EQ(node("a").wait(seconds(10) * slowness()), (ExitStatus{0, 0})) << logs();
  expect_all_answered();
  EXPECT_EQ(metric("volvox_cluster_deaths_total"), 0);
}

TEST_F(Cluster, ANodeMayComeLateAndAnotherClustersIsRefused) {
  start_node("stranger", "elsewhere");
  ASSERT_NO_FATAL_FAILURE(wait_until("the stranger is refused",
                                     [&] { return metric("volvox_cluster_joins_refused_total") >= 1; }));
  EXPECT_EQ(metric("volvox_cluster_members"), 0);
  const json request{{"model", "m"}, {"tokens", {1, 2, 3}}};
  const CommandResult nobody = run_volvox({"infer", "--connect", endpoint_}, seconds(20), request.dump());
  EXPECT_EQ(nobody.status, (ExitStatus{1, 0}));
  EXPECT_EQ(json::parse(nobody.out, nullptr, false)["error"]["code"], "MODEL_NOT_FOUND") << nobody.out;
  start_node("a");
  ASSERT_NO_FATAL_FAILURE(wait_for_members(1));
  const CommandResult answer = run_volvox({"infer", "--connect", endpoint_}, seconds(20), request.dump());
  EXPECT_TRUE(answer.ok()) << answer.out << answer.err << logs();
}

}  // namespace
}  // namespace volvox
