// Programs of neighbouring versions of the cluster protocol work together, others refuse each other.

#include <gmock/gmock.h>

#include "tests/system/cluster_processes.h"

namespace volvox {
namespace {

using nlohmann::json;
using std::chrono::seconds;
using testing::HasSubstr;

const std::string kNext = VOLVOX_NEXT_BINARY, kLater = VOLVOX_LATER_BINARY;

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
  start_requests("200", "8");
  ASSERT_NO_FATAL_FAILURE(wait_for_requests_in_flight(4));
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_NO_FATAL_FAILURE(stop(node(name)));
    ASSERT_NO_FATAL_FAILURE(wait_for_members(2));
    start_node(name, {}, kNext);
    ASSERT_NO_FATAL_FAILURE(wait_for_members(3));
    ASSERT_NO_FATAL_FAILURE(wait_until("it says what the router does not know", [&] {
      return node(name).err().find("a message of a new kind is sent") != std::string::npos;
    }));
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
  start_requests("200", "8");
  for (const std::string name : {"r1", "r2"}) {
    ASSERT_NO_FATAL_FAILURE(wait_for_requests_in_flight(4, name));
    ASSERT_NO_FATAL_FAILURE(stop(router(name)));
    ASSERT_NO_FATAL_FAILURE(start_router(name, patient(), kNext));
    ASSERT_NO_FATAL_FAILURE(wait_for_members(2));
  }
  ASSERT_NO_FATAL_FAILURE(wait_for_requests_in_flight(1, "r2"));
  expect_all_answered(load_report());
  EXPECT_THAT(router("r1").err(), HasSubstr("a message of a new kind is sent"));
}

TEST_F(Upgrade, ANewRouterServesOldNodes) {
  ASSERT_NO_FATAL_FAILURE(start_router("r1", patient(), kNext));
  for (const char* name : {"a", "b"}) start_node(name);
  ASSERT_NO_FATAL_FAILURE(wait_for_members(2));
  start_requests("200", "2");
  expect_all_answered(load_report());
  EXPECT_THAT(router("r1").err(), HasSubstr("a message of a new kind is sent"));
}

TEST_F(Upgrade, AProtocolThatIsTooOldIsRefused) {
  ASSERT_NO_FATAL_FAILURE(start_router("r1", patient(), kLater));
  start_node("old");
  ASSERT_NO_FATAL_FAILURE(
      wait_until("it is refused", [&] { return metric("volvox_cluster_joins_refused_total") >= 1; }));
  EXPECT_THAT(router("r1").err(), HasSubstr("'old' speaks cluster protocol 1; upgrade it to 2 or newer"));
  ASSERT_NO_FATAL_FAILURE(wait_until("the node says so", [&] {
    return node("old").err().find("UNSUPPORTED_VERSION") != std::string::npos;
  }));
  start_node("next", {}, kNext);
  ASSERT_NO_FATAL_FAILURE(wait_for_members(1));
  EXPECT_TRUE(infer().ok()) << logs();
}

TEST_F(Upgrade, AProtocolThatIsTooNewIsRefused) {
  ASSERT_NO_FATAL_FAILURE(start_router("r1", patient()));
  start_node("later", {}, kLater);
  ASSERT_NO_FATAL_FAILURE(
      wait_until("it is refused", [&] { return metric("volvox_cluster_joins_refused_total") >= 1; }));
  EXPECT_THAT(router("r1").err(),
              HasSubstr("'later' speaks no cluster protocol older than 2; upgrade this process"));
  EXPECT_EQ(metric("volvox_cluster_members"), 0);
}

}  // namespace
}  // namespace volvox
