// Several routers in front of the same nodes: what clients see when a router dies, stands still, is told to
// stop, and comes back.

#include "tests/system/cluster_processes.h"

namespace volvox {
namespace {

using std::chrono::seconds;

class Routers : public ClusterProcesses {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(ClusterProcesses::SetUp());
    for (const char* name : {"r1", "r2"}) ASSERT_NO_FATAL_FAILURE(start_router(name));
    for (const char* name : {"a", "b"}) start_node(name);
    ASSERT_NO_FATAL_FAILURE(wait_for_members(2));
  }
};

TEST_F(Routers, NothingIsLostWhenOneIsKilled) {
  may_resend_ = 300 * slowness();  // what it had: less than comes in a second
  start_requests("300", "4");
  ASSERT_NO_FATAL_FAILURE(wait_for_requests_in_flight(4, "r1"));
  ASSERT_NO_FATAL_FAILURE(wait_for_requests_in_flight(4, "r2"));
  router("r1").send(SIGKILL);
  const auto report = load_report();
  expect_all_answered(report);
  EXPECT_GT(report.value("resent", 0), 0);
  EXPECT_LE(report["latency_ms"].value("max", 1e9), 2500.0 * slowness()) << report;
}

TEST_F(Routers, NothingIsLostNorAnsweredTwiceWhenOneStandsStill) {
  may_resend_ = 200 * slowness();  // what it had, and got in the second until its silence is one
  start_requests("200", "5");
  ASSERT_NO_FATAL_FAILURE(wait_for_requests_in_flight(4, "r1"));
  router("r1").send(SIGSTOP);
  const auto requests = [&](const std::string& name) {
    return metric("volvox_requests_total{outcome=\"ok\"}", name);
  };
  const double before = requests("r2");
  ASSERT_NO_FATAL_FAILURE(
      wait_until("the other does all the work", [&] { return requests("r2") > before + 300; }));
  router("r1").send(SIGCONT);
  const auto report = load_report();
  expect_all_answered(report);
  EXPECT_GT(report.value("resent", 0), 0);
}

TEST_F(Routers, OneMayBeRestartedUnderLoad) {
  // What it refuses while it leaves, and while no node has found it again: less than comes in two seconds.
  may_resend_ = 400 * slowness();
  start_requests("200", "5");
  ASSERT_NO_FATAL_FAILURE(wait_for_requests_in_flight(4, "r1"));
  router("r1").send(SIGTERM);
  EXPECT_EQ(router("r1").wait(seconds(10) * slowness()), (ExitStatus{0, 0})) << logs();
  ASSERT_NO_FATAL_FAILURE(start_router("r1"));
  ASSERT_NO_FATAL_FAILURE(wait_for_members(2));
  ASSERT_NO_FATAL_FAILURE(wait_for_requests_in_flight(1, "r1"));
  expect_all_answered(load_report());
}

}  // namespace
}  // namespace volvox
