#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/simulation/bench_fixture.h"

namespace volvox {
namespace {

TEST_F(Bench, RunsTreesAndFoldedTables) {
  const std::string model = (folder_ / "tree").string(), trees = (folder_ / "trees").string();
  ASSERT_TRUE(write_new_model({.path = model}, "tree_lstm", {.hidden = 8, .vocabulary = 50}));
  std::ofstream(trees) << "(3 (2 It) (4 (2 works) (2 well)))\n(2 (1 It) (1 does))\n";
  const auto json =
      report("engine --model " + model + " --trees " + trees +
             " --fold on --policy cellular --max-batch 8 --seconds 0.05 --warm-up 0.05 --repeat 1");
  EXPECT_GT(json["folded_bytes"], 0);
  ASSERT_EQ(json["runs"].size(), 1U);
  EXPECT_GT(json["runs"][0]["useful_gflops"]["median"], 0);
  EXPECT_NE(run("engine --hidden 8 --seconds 0.1 --trees " + trees), 0);
  EXPECT_THAT(read("err"), ::testing::HasSubstr("--trees"));
}

TEST_F(Bench, TreesOnAGpuThatComputesNothing) {
  expect_to_run_without_a_gpu("tree_lstm");
}

TEST_F(Bench, TreesCellByCellNeedNoMoreBatchesThanTheAgenda) {
  for (const char* kind : {"tree_lstm", "child_sum", "tree_lstm_2type"})
    expect_no_more_batches_than_the_agenda(kind);
}

}  // namespace
}  // namespace volvox
