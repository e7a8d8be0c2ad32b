// Programs of neighbouring versions of the cluster protocol work together, others refuse each other.

#include <gtest/gtest.h>

#include "tests/system/cluster_processes.h"

namespace volvox {
namespace {

using nlohmann::json;
using std::chrono::seconds;

const std::string kPrevious = VOLVOX_PREVIOUS_BINARY, kNext = VOLVOX_NEXT_BINARY,
                  kLater = VOLVOX_LATER_BINARY;

class Upgrade : public ClusterProcesses {
 protected:
  void stop(Process& process) {
    process.send(SIGTERM);
    EXPECT_EQ(process.wait(seconds(10) * slowness()), (ExitStatus{0, 0})) << logs();
  }
  CommandResult infer() const {
    const json request{{"model", "m"}, {"tokens", {1, 2, 3}}};
    return run_volvox({"infer", "--connect", endpoint("r1")}, seconds(20), request.dump());
  }
};

TEST_F(Upgrade, ALiveClusterIsUpgradedProcessByProcess) {
  ASSERT_NO_FATAL_FAILURE(start_router("r1", patient()));
  for (const char* name : {"a", "b", "c"}) start_node(name);
  ASSERT_NO_FATAL_FAILURE(wait_for_members(3));
  start_requests("200", std::to_string(8 * slowness()));  // for longer than the upgrade takes
  ASSERT_NO_FATAL_FAILURE(wait_for_requests_in_flight(4));
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_NO_FATAL_FAILURE(stop(node(name)));
    ASSERT_NO_FATAL_FAILURE(wait_for_members(2));
    start_node(name, {}, kNext);
    ASSERT_NO_FATAL_FAILURE(wait_for_members(3));
    ASSERT_NO_FATAL_FAILURE(wait_for_words(node(name), "a message of a new kind is sent"));
  }
  ASSERT_NO_FATAL_FAILURE(wait_for_requests_in_flight(1));  // the load outlasted the upgrade
  expect_all_answered(load_report());
  EXPECT_EQ(metric("volvox_cluster_joins_refused_total"), 0);
  EXPECT_EQ(metric("volvox_cluster_deaths_total"), 0);
}

TEST_F(Upgrade, RoutersAreUpgradedOneByOne) {
  for (const char* name : {"r1", "r2"}) ASSERT_NO_FATAL_FAILURE(start_router(name, patient()));
  for (const char* name : {"a", "b"}) start_node(name);
  ASSERT_NO_FATAL_FAILURE(wait_for_members(2));
  // What each refuses while it leaves, and while no node has found it again: less than comes in two seconds.
  may_resend_ = 2 * 400 * slowness();
  start_requests("200", "8");
  for (const std::string name : {"r1", "r2"}) {
    ASSERT_NO_FATAL_FAILURE(wait_for_requests_in_flight(4, name));
    ASSERT_NO_FATAL_FAILURE(stop(router(name)));
    ASSERT_NO_FATAL_FAILURE(start_router(name, patient(), kNext));
    ASSERT_NO_FATAL_FAILURE(wait_for_members(2));
    // Clients need one to which they are connected: they dial it again a moment after it is there.
    ASSERT_NO_FATAL_FAILURE(wait_for_requests_in_flight(1, name));
  }
  expect_all_answered(load_report());
  ASSERT_NO_FATAL_FAILURE(wait_for_words(router("r1"), "a message of a new kind is sent"));
}

// Version 1 knows of no generations of links.
TEST_F(Upgrade, ProcessesOfTheVersionBeforeAreServedAndServe) {
  for (const auto& [name, program] : {std::pair("r1", volvox_binary()), std::pair("r2", kPrevious)})
    ASSERT_NO_FATAL_FAILURE(start_router(name, patient(), program));
  start_node("a");
  start_node("b", {}, kPrevious);
  ASSERT_NO_FATAL_FAILURE(wait_for_members(2));
  start_requests("200", "4");
  ASSERT_NO_FATAL_FAILURE(wait_for_requests_in_flight(4, "r2"));
  for (const char* name : {"a", "b"}) ASSERT_NO_FATAL_FAILURE(stop(node(name)));
  start_node("a", {}, kPrevious);
  start_node("b");
  ASSERT_NO_FATAL_FAILURE(wait_for_members(2));
  const json report = load_report();
  EXPECT_EQ(report.value("wrong", 1), 0);
  for (const char* name : {"r1", "r2"}) {
    EXPECT_EQ(metric("volvox_cluster_deaths_total", name), 0) << logs();
    EXPECT_EQ(metric("volvox_cluster_joins_total", name), 4) << logs();
    EXPECT_EQ(metric("volvox_cluster_late_answers_total", name), 0) << logs();
  }
}

TEST_F(Upgrade, ANewRouterServesOldNodes) {
  ASSERT_NO_FATAL_FAILURE(start_router("r1", patient(), kNext));
  for (const char* name : {"a", "b"}) start_node(name);
  ASSERT_NO_FATAL_FAILURE(wait_for_members(2));
  start_requests("200", "2");
  expect_all_answered(load_report());
  ASSERT_NO_FATAL_FAILURE(wait_for_words(router("r1"), "a message of a new kind is sent"));
}

// It hears of other models in a join alone.
TEST_F(Upgrade, ARouterOfTheVersionBeforeHearsOfOtherModels) {
  ASSERT_NO_FATAL_FAILURE(start_router("r1", patient(), kPrevious));
  start_node("a", {"--admin", file("a.admin")});
  start_node("b", {}, kPrevious);
  ASSERT_NO_FATAL_FAILURE(wait_for_members(2));
  ASSERT_TRUE(run_volvox({"models", "new", "check", models() + "/other"}, seconds(20)).ok());
  const CommandResult loaded =
      run_volvox({"models", "load", "other", "--admin", file("a.admin")}, seconds(20));
  ASSERT_TRUE(loaded.ok()) << loaded.err;
  ASSERT_NO_FATAL_FAILURE(wait_until("it has joined again", [&] {
    return metric("volvox_cluster_joins_total") >= 3 && metric("volvox_cluster_members") == 2;
  }));
  const json request{{"model", "other"}, {"tokens", {1, 2, 3}}};
  ASSERT_NO_FATAL_FAILURE(wait_until("the other model answers", [&] {
    return run_volvox({"infer", "--connect", endpoint("r1")}, seconds(20), request.dump()).ok();
  }));
}

// Each of them does what the older one can.
TEST_F(Upgrade, ANodeOfTheVersionBeforeIsServed) {
  ASSERT_NO_FATAL_FAILURE(start_router("r1", patient()));
  start_node("a", {}, kPrevious);
  ASSERT_NO_FATAL_FAILURE(wait_for_members(1));
  start_requests("100", "2");
  expect_all_answered(load_report());
  EXPECT_EQ(metric("volvox_cluster_joins_total"), 1);
}

TEST_F(Upgrade, AProtocolThatIsTooOldIsRefused) {
  ASSERT_NO_FATAL_FAILURE(start_router("r1", patient(), kLater));
  start_node("old");
  ASSERT_NO_FATAL_FAILURE(
      wait_for_words(router("r1"), "'old' speaks cluster protocol 2; upgrade it to 3 or newer"));
  EXPECT_GE(metric("volvox_cluster_joins_refused_total"), 1);
  ASSERT_NO_FATAL_FAILURE(wait_for_words(node("old"), "UNSUPPORTED_VERSION"));
  start_node("next", {}, kNext);
  ASSERT_NO_FATAL_FAILURE(wait_for_members(1));
  EXPECT_TRUE(infer().ok()) << logs();
}

TEST_F(Upgrade, AProtocolThatIsTooNewIsRefused) {
  ASSERT_NO_FATAL_FAILURE(start_router("r1", patient()));
  start_node("later", {}, kLater);
  ASSERT_NO_FATAL_FAILURE(
      wait_for_words(router("r1"), "'later' speaks no cluster protocol older than 3; upgrade this process"));
  EXPECT_GE(metric("volvox_cluster_joins_refused_total"), 1);
  EXPECT_EQ(metric("volvox_cluster_members"), 0);
}

}  // namespace
}  // namespace volvox
