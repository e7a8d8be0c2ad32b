// Sessions through two routers to three nodes: each stays at its home, whichever router it comes by.

#include "tests/system/cluster_processes.h"

namespace volvox {
namespace {

using nlohmann::json;
using std::chrono::seconds;

class ClusterSessions : public ClusterProcesses {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(ClusterProcesses::SetUp());
    for (const char* name : {"r1", "r2"}) ASSERT_NO_FATAL_FAILURE(start_router(name));
    start_node("a", {"--metrics", "127.0.0.1:0"});
    for (const char* name : {"b", "c"}) start_node(name);
    ASSERT_NO_FATAL_FAILURE(wait_for_members(3));
  }

  // Until sessions are at home there that have had answers: one that is only begun can begin elsewhere.
  void wait_for_sessions_at_a() {
    const std::string said = node("a").out();
    const auto at = said.find("http://");
    ASSERT_NE(at, std::string::npos) << said;
    const std::string page = said.substr(at, said.find_first_of(" \n", at) - at);
    ASSERT_NO_FATAL_FAILURE(wait_until("sessions live at 'a'", [&] {
      return metric_at(page, "volvox_sessions{state=\"live\"}") >= 10 &&
             metric_at(page, "volvox_session_parts_total{outcome=\"committed\"}") >= 40;
    }));
  }

  // 60 streams; each is compared with one pass over all its input when it ends.
  void start_sessions(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"--sessions", "60", "--parts",   "8", "--length",       "5",
                                       "--pause-ms", "30", "--seconds", "4", "--repeat-parts", "0.05"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    start_load(arguments);
    ASSERT_NO_FATAL_FAILURE(wait_for_requests_in_flight(1, "r1"));
    ASSERT_NO_FATAL_FAILURE(wait_for_requests_in_flight(1, "r2"));
  }

  json expect_right() {
    const json report = load_report();
    EXPECT_GT(report.value("verified", 0), 60) << report << logs();
    for (const char* none : {"wrong", "lost", "duplicates"}) EXPECT_EQ(report.value(none, 1), 0) << report;
    EXPECT_EQ(load_ended_, (ExitStatus{0, 0})) << report << logs();
    return report;
  }
};

TEST_F(ClusterSessions, GoOnThroughAnyRouter) {
  ASSERT_NO_FATAL_FAILURE(start_sessions());
  const json report = expect_right();
  EXPECT_EQ(report["errors"], json::object()) << report;
  EXPECT_EQ(report["over"], 0);
}

TEST_F(ClusterSessions, NoneIsLostWhenARouterIsKilled) {
  ASSERT_NO_FATAL_FAILURE(start_sessions());
  router("r1").send(SIGKILL);
  const json report = expect_right();
  EXPECT_GT(report["resent"], 0);
  EXPECT_EQ(report["over"], 0) << report << logs();
}

TEST_F(ClusterSessions, NoneIsLostWhenARouterIsRestarted) {
  ASSERT_NO_FATAL_FAILURE(start_sessions());
  router("r1").send(SIGTERM);
  EXPECT_EQ(router("r1").wait(seconds(10) * slowness()), (ExitStatus{0, 0})) << logs();
  ASSERT_NO_FATAL_FAILURE(start_router("r1"));
  const json report = expect_right();
  EXPECT_EQ(report["over"], 0) << report << logs();
}

TEST_F(ClusterSessions, GoOnInBundlesWhosePartsHaveDifferentHomes) {
  ASSERT_NO_FATAL_FAILURE(start_sessions({"--bundle", "--cancel-parts", "0.05"}));
  const json report = expect_right();
  EXPECT_EQ(report["over"], 0);
  json others = report["errors"];
  others.erase("CANCELLED");
  EXPECT_EQ(others, json::object()) << report;
}

// A bundle goes to no other router by itself: its parts are told that nobody knows, and repeated.
TEST_F(ClusterSessions, NoneIsLostWhenARouterIsKilledUnderBundles) {
  ASSERT_NO_FATAL_FAILURE(start_sessions({"--bundle"}));
  router("r1").send(SIGKILL);
  const json report = expect_right();
  EXPECT_EQ(report["over"], 0) << report << logs();
}

TEST_F(ClusterSessions, OnlyThoseOfADeadNodeAreLostUnderBundles) {
  ASSERT_NO_FATAL_FAILURE(start_sessions({"--bundle"}));
  ASSERT_NO_FATAL_FAILURE(wait_for_sessions_at_a());
  node("a").send(SIGKILL);
  const json report = expect_right();
  EXPECT_GT(report["over"], 0) << report;
  EXPECT_FALSE(report["errors"].contains("SESSION_EXPIRED")) << report;
}

TEST_F(ClusterSessions, OnlyThoseOfADeadNodeAreLost) {
  ASSERT_NO_FATAL_FAILURE(start_sessions());
  ASSERT_NO_FATAL_FAILURE(wait_for_sessions_at_a());
  node("a").send(SIGKILL);
  const json report = expect_right();
  const json errors = report["errors"];
  EXPECT_GT(report["over"], 0) << report;
  EXPECT_GE(errors.value("SESSION_LOST", 0), report["over"])
      << "a repeat is told as well: " << report << logs();
  EXPECT_FALSE(errors.contains("SESSION_EXPIRED")) << report;
}

TEST_F(ClusterSessions, ThoseOfADrainedNodeAreToldSo) {
  ASSERT_NO_FATAL_FAILURE(start_sessions());
  ASSERT_NO_FATAL_FAILURE(wait_for_sessions_at_a());
  const CommandResult drained =
      run_volvox({"drain", "a", "--admin", admin("r2"), "--wait", "20"}, seconds(30));
  EXPECT_TRUE(drained.ok()) << drained.err << logs();
  const json report = expect_right();
  const json errors = report["errors"];
  EXPECT_GT(errors.value("SESSION_EXPIRED", 0), 0) << report;
  EXPECT_FALSE(errors.contains("SESSION_LOST")) << report << logs();
}

}  // namespace
}  // namespace volvox
