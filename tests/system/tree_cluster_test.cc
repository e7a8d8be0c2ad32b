#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/system/cluster_processes.h"

namespace volvox {
namespace {

using nlohmann::json;
using std::chrono::seconds;

class ClusterTrees : public ClusterProcesses {};

// Random trees, every answer compared, while a node dies.
TEST_F(ClusterTrees, TreesGoToAnotherNodeAsChainsDo) {
  const CommandResult made =
      run_volvox({"models", "new", "check_tree", models() + "/tree", "--max-batch", "32"}, seconds(20));
  ASSERT_TRUE(made.ok()) << made.err;
  ASSERT_NO_FATAL_FAILURE(start_router("r1"));
  start_node("a");
  start_node("b");
  ASSERT_NO_FATAL_FAILURE(wait_for_members(2));
  start_load({"--rate", "200", "--seconds", "4", "--warmup", "0", "--length", "12", "--verify",
              models() + "/tree", "--require-all"},
             "tree");
  ASSERT_NO_FATAL_FAILURE(wait_for_requests_in_flight(4));
  node("a").send(SIGKILL);
  const json report = load_report();
  expect_all_answered(report);
  EXPECT_EQ(report.value("verified", 0), report.value("completed", 1)) << report;
}

}  // namespace
}  // namespace volvox
