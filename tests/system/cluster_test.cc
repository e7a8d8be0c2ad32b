// A router and its nodes as processes of their own: what clients see when nodes come, die, stand still and
// go.

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/system/cluster_processes.h"

namespace volvox {
namespace {

using nlohmann::json;
using std::chrono::seconds;

class Cluster : public ClusterProcesses {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(ClusterProcesses::SetUp());
    ASSERT_NO_FATAL_FAILURE(start_router("r1"));
  }
  void start_two_nodes() {
    start_node("a");
    start_node("b");
    ASSERT_NO_FATAL_FAILURE(wait_for_members(2));
  }
  void start_requests_and_wait(const std::string& rate, const std::string& duration, double in_flight) {
    start_requests(rate, duration);
    ASSERT_NO_FATAL_FAILURE(wait_for_requests_in_flight(in_flight));
  }
};

TEST_F(Cluster, NothingIsLostWhenANodeIsKilled) {
  ASSERT_NO_FATAL_FAILURE(start_two_nodes());
  ASSERT_NO_FATAL_FAILURE(start_requests_and_wait("300", "4", 8));
  node("a").send(SIGSTOP);  // so that it has some when it dies
  ASSERT_NO_FATAL_FAILURE(wait_for_requests_in_flight(10));
  node("a").send(SIGKILL);
  expect_all_answered(load_report());
  EXPECT_GT(metric("volvox_cluster_retries_total"), 0);
  EXPECT_EQ(metric("volvox_cluster_members"), 1);
}

TEST_F(Cluster, ANodeThatStoodStillIsReplacedAndJoinsAfresh) {
  ASSERT_NO_FATAL_FAILURE(start_two_nodes());
  ASSERT_NO_FATAL_FAILURE(start_requests_and_wait("200", "4", 8));
  node("a").send(SIGSTOP);
  ASSERT_NO_FATAL_FAILURE(wait_for_members(1));
  node("a").send(SIGCONT);
  ASSERT_NO_FATAL_FAILURE(wait_for_members(2));
  expect_all_answered(load_report());
}

TEST_F(Cluster, ANodeThatIsToldToStopFinishesAndLeaves) {
  ASSERT_NO_FATAL_FAILURE(start_two_nodes());
  ASSERT_NO_FATAL_FAILURE(start_requests_and_wait("200", "3", 4));
  node("a").send(SIGTERM);
  EXPECT_EQ(node("a").wait(seconds(10) * slowness()), (ExitStatus{0, 0})) << logs();
  expect_all_answered(load_report());
  EXPECT_EQ(metric("volvox_cluster_deaths_total"), 0);
}

TEST_F(Cluster, ANodeMayComeLateAndAnotherClustersIsRefused) {
  start_node("stranger", {"--cluster", "elsewhere"});
  ASSERT_NO_FATAL_FAILURE(wait_until("the stranger is refused",
                                     [&] { return metric("volvox_cluster_joins_refused_total") >= 1; }));
  EXPECT_EQ(metric("volvox_cluster_members"), 0);
  const json request{{"model", "m"}, {"tokens", {1, 2, 3}}};
  const CommandResult nobody =
      run_volvox({"infer", "--connect", endpoint("r1")}, seconds(20), request.dump());
  EXPECT_EQ(nobody.status, (ExitStatus{1, 0}));
  EXPECT_EQ(json::parse(nobody.out, nullptr, false)["error"]["code"], "UNAVAILABLE") << nobody.out;
  start_node("a");
  ASSERT_NO_FATAL_FAILURE(wait_for_members(1));
  const CommandResult answer =
      run_volvox({"infer", "--connect", endpoint("r1")}, seconds(20), request.dump());
  EXPECT_TRUE(answer.ok()) << answer.out << answer.err << logs();
}

}  // namespace
}  // namespace volvox
