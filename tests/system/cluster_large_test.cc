// Large messages between routers and nodes: many at once, over links that end on one side only, and when a
// node leaves.

#include <algorithm>
#include <chrono>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/system/cluster_processes.h"

namespace volvox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kSteps = "25000";  // 100 kB there, 200 kB back

class ClusterLarge : public ClusterProcesses {
 protected:
  void SetUp() override {
    ClusterProcesses::SetUp();
    const CommandResult made =
        run_volvox({"models", "new", "check", models() + "/big", "--every-step"}, seconds(20));
    ASSERT_TRUE(made.ok()) << made.err;
    const std::string definition = models() + "/big/model.toml";
    std::string text = read_file(definition);
    const std::size_t at = text.find("max_length = 4096");
    ASSERT_NE(at, std::string::npos) << text;
    write_file(definition, text.replace(at, 17, "max_length = 32768"));
    write_file(file("cpu.toml"), "[device]\nkind = \"cpu\"\ncompute_threads = 1\n");
  }
  void start_cluster() {
    ASSERT_NO_FATAL_FAILURE(start_router("r1", patient()));
    start_node("a",
               {"--config", file("cpu.toml"), "--metrics", "127.0.0.1:0", "--port-file", file("a.ports")});
    ASSERT_NO_FATAL_FAILURE(wait_for_members(1));
  }
  // By the node, and answered or not.
  double taken_in() const {
    std::istringstream lines(read_file(file("a.ports")));
    std::string listen, metrics;
    std::getline(lines, listen);
    std::getline(lines, metrics);
    return metric_at(metrics, "volvox_requests_in_flight") +
           metric_at(metrics, "volvox_requests_total{outcome=\"ok\"}");
  }
  // So many at once.
  void start_large(const std::string& count, const Options& options = {}) {
    Options all{"--length",       kSteps,
                "--concurrency",  count,
                "--requests",     count,
                "--warmup",       "0",
                "--verify",       models() + "/big",
                "--verify-count", count,
                "--require-all"};
    all.insert(all.end(), options.begin(), options.end());
    start_load(all, "big");
  }
};

// A batch ends as one, and with it more large answers than a peer puts together at a time.
TEST_F(ClusterLarge, ManyLargeAnswersAtOnceAreAllSent) {
  ASSERT_NO_FATAL_FAILURE(start_cluster());
  for (int burst = 0; burst < 2; ++burst) {
    ASSERT_NO_FATAL_FAILURE(start_large("192"));
    expect_all_answered(load_report());
  }
  EXPECT_EQ(metric("volvox_cluster_joins_total"), 1) << logs();
  EXPECT_EQ(metric("volvox_cluster_retries_total"), 0) << logs();
  EXPECT_EQ(metric("volvox_cluster_queued_bytes"), 0);
}

// The node gives the router up, while answers are on their way, and finds it again.
TEST_F(ClusterLarge, ALinkThatOneEndHasGivenUpCarriesLargeMessagesAgain) {
  ASSERT_NO_FATAL_FAILURE(start_cluster());
  start_large("64", {"--timeout", "30"});
  ASSERT_NO_FATAL_FAILURE(wait_for_requests_in_flight(32));
  router("r1").send(SIGSTOP);
  ASSERT_NO_FATAL_FAILURE(wait_for_words(node("a"), "is over"));
  router("r1").send(SIGCONT);
  static_cast<void>(load_report());
  ASSERT_NO_FATAL_FAILURE(wait_for_members(1));
  const double joins = metric("volvox_cluster_joins_total"), retries = metric("volvox_cluster_retries_total");
  start_large("2");
  expect_all_answered(load_report());
  EXPECT_EQ(metric("volvox_cluster_joins_total"), joins) << logs();
  EXPECT_EQ(metric("volvox_cluster_retries_total"), retries) << logs();
}

// Its last words come after its answers, and its process ends after both have arrived.
TEST_F(ClusterLarge, ANodeThatLeavesHasSentWhatItHad) {
  ASSERT_NO_FATAL_FAILURE(start_cluster());
  start_large("128");
  ASSERT_NO_FATAL_FAILURE(wait_until("the node has them all", [&] { return taken_in() >= 128; }));
  node("a").send(SIGTERM);
  EXPECT_EQ(node("a").wait(seconds(20) * slowness()), (ExitStatus{0, 0})) << logs();
  expect_all_answered(load_report());
  EXPECT_EQ(metric("volvox_cluster_deaths_total"), 0);
  EXPECT_EQ(metric("volvox_cluster_late_answers_total"), 0);
  ASSERT_NO_FATAL_FAILURE(wait_for_words(router("r1"), "node 'a' left"));
}

// Each router is asked again for itself.
TEST_F(ClusterLarge, EveryRouterThatRefusesANodeIsAskedAgain) {
  for (const char* name : {"r1", "r2"})
    ASSERT_NO_FATAL_FAILURE(start_router(name, {"--cluster", "elsewhere"}));
  start_node("a");
  const auto refused = [&](const char* name) { return metric("volvox_cluster_joins_refused_total", name); };
  ASSERT_NO_FATAL_FAILURE(
      wait_until("both refuse it", [&] { return refused("r1") >= 1 && refused("r2") >= 1; }));
  ASSERT_NO_FATAL_FAILURE(
      wait_until("one of them has six times", [&] { return std::max(refused("r1"), refused("r2")) >= 6; }));
  EXPECT_GE(std::min(refused("r1"), refused("r2")), 4) << logs();
}

}  // namespace
}  // namespace volvox
