// What an operator sees of a cluster, and does with it.

#include <algorithm>

#include "tests/system/cluster_processes.h"

namespace volvox {
namespace {

using nlohmann::json;
using std::chrono::seconds;

class ClusterAdmin : public ClusterProcesses {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(ClusterProcesses::SetUp());
    ASSERT_NO_FATAL_FAILURE(start_router("r1"));
    for (const char* name : {"a", "b"}) start_node(name);
    ASSERT_NO_FATAL_FAILURE(wait_for_members(2));
  }

  CommandResult status(std::vector<std::string> options) const {
    options.insert(options.begin(), {"status", "--admin", admin("r1")});
    return run_volvox(options, seconds(20));
  }
  json members() const { return json::parse(status({"--json"}).out, nullptr, false)["members"]; }
};

TEST_F(ClusterAdmin, StatusListsTheMembers) {
  const json list = members();
  ASSERT_EQ(list.size(), 2U) << list;
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(list[i]["name"], i == 0 ? "a" : "b");
    EXPECT_EQ(list[i]["state"], "alive");
    ASSERT_EQ(list[i]["models"].size(), 1U);
    EXPECT_EQ(list[i]["models"][0]["name"], "m");
    EXPECT_EQ(list[i]["models"][0]["version"], 1);
    EXPECT_EQ(list[i]["models"][0]["gets_traffic"], true);
    EXPECT_EQ(list[i]["models"][0]["digest"], list[0]["models"][0]["digest"]);
  }
  ASSERT_NO_FATAL_FAILURE(wait_until("there is credit", [&] {
    const json now = members();
    return std::all_of(now.begin(), now.end(),
                       [](const json& member) { return member["request_credit"] > 0; });
  }));
  // Whether it is ready is asked for now and then only.
  CommandResult text;
  ASSERT_NO_FATAL_FAILURE(wait_until("it is ready", [&] { return (text = status({})).ok(); }));
  for (const char* word : {"r1", "ready", "NODE", "CREDIT", "alive", "m/1"})
    EXPECT_NE(text.out.find(word), std::string::npos) << word << "\n" << text.out;
}

TEST_F(ClusterAdmin, StatusShowsWhoIsSilentAndGoesOnUntilInterrupted) {
  Process watch({volvox_binary(), "status", "--admin", admin("r1"), "--watch", "--json", "--interval", "0.1"},
                scratch(), "watch");
  ASSERT_NO_FATAL_FAILURE(wait_until("it watches", [&] { return !watch.out().empty(); }));
  node("a").send(SIGSTOP);
  ASSERT_NO_FATAL_FAILURE(
      wait_until("the change is shown", [&] { return watch.out().find("suspect") != std::string::npos; }));
  node("a").send(SIGCONT);
  watch.send(SIGINT);
  EXPECT_EQ(watch.wait(seconds(10) * slowness()), (ExitStatus{0, 0})) << watch.err();
  const std::string lines = watch.out();
  EXPECT_GT(std::count(lines.begin(), lines.end(), '\n'), 1);
}

TEST_F(ClusterAdmin, ANodeIsDrainedUnderLoad) {
  start_requests("200", "4");
  ASSERT_NO_FATAL_FAILURE(wait_for_requests_in_flight(8));
  const CommandResult drained =
      run_volvox({"drain", "a", "--admin", admin("r1"), "--wait", "20"}, seconds(30));
  EXPECT_TRUE(drained.ok()) << drained.err << logs();
  EXPECT_EQ(node("a").wait(seconds(10) * slowness()), (ExitStatus{0, 0})) << logs();
  expect_all_answered(load_report());
  EXPECT_EQ(metric("volvox_cluster_deaths_total"), 0);
  EXPECT_EQ(members().size(), 1U);
}

// As orchestrators do.
TEST_F(ClusterAdmin, ANodeIsDrainedAndToldToStopAtOnce) {
  start_requests("200", "4");
  ASSERT_NO_FATAL_FAILURE(wait_for_requests_in_flight(8));
  const CommandResult drained = run_volvox({"drain", "a", "--admin", admin("r1")}, seconds(30));
  EXPECT_TRUE(drained.ok()) << drained.err << logs();
  node("a").send(SIGTERM);
  EXPECT_TRUE(run_volvox({"drain", "a", "--admin", admin("r1")}, seconds(30)).in_time) << "again";
  node("a").send(SIGTERM);
  EXPECT_EQ(node("a").wait(seconds(10) * slowness()), (ExitStatus{0, 0})) << logs();
  expect_all_answered(load_report());
  EXPECT_EQ(metric("volvox_cluster_deaths_total"), 0);
}

TEST_F(ClusterAdmin, ARouterThatIsToldTwiceTakesItsTimeAndThreeTimesLeaves) {
  ASSERT_NO_FATAL_FAILURE(start_router("r2", patient()));
  start_node("c");
  ASSERT_NO_FATAL_FAILURE(
      wait_until("c is there", [&] { return metric("volvox_cluster_members", "r2") == 1; }));
  node("c").send(SIGSTOP);  // requests stay, for as long as the router is patient
  const Process client({volvox_binary(), "infer", "--connect", endpoint("r2"), "--timeout", "30"}, scratch(),
                       "client", json{{"model", "m"}, {"tokens", {1, 2, 3}}}.dump());
  ASSERT_NO_FATAL_FAILURE(wait_for_requests_in_flight(1, "r2"));
  router("r2").send(SIGTERM);
  router("r2").send(SIGTERM);
  EXPECT_EQ(router("r2").wait(std::chrono::milliseconds(1100)), std::nullopt);
  router("r2").send(SIGTERM);
  EXPECT_EQ(router("r2").wait(seconds(5) * slowness()), (ExitStatus{1, 0})) << logs();
}

TEST_F(ClusterAdmin, WhatCannotBeDoneIsSaid) {
  const CommandResult nobody = run_volvox({"drain", "nobody", "--admin", admin("r1")}, seconds(20));
  EXPECT_EQ(nobody.status, (ExitStatus{1, 0}));
  EXPECT_NE(nobody.err.find("no node 'nobody'"), std::string::npos) << nobody.err;
  const CommandResult elsewhere = run_volvox({"drain", "a", "--admin", file("nowhere")}, seconds(20));
  EXPECT_EQ(elsewhere.status, (ExitStatus{1, 0}));
  EXPECT_NE(elsewhere.err.find("UNAVAILABLE"), std::string::npos) << elsewhere.err;
  EXPECT_EQ(members().size(), 2U);
}

}  // namespace
}  // namespace volvox
