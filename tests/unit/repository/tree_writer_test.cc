#include <gtest/gtest.h>

#include "cells/unfold/unfolding.h"
#include "repository/model_writer.h"
#include "repository/repository.h"
#include "tests/unit/cells/cells_testing.h"

namespace volvox {
namespace {

TEST(ModelWriter, WritesModelsOverTrees) {
  const testing_cells::TemporaryFolder folder;
  ASSERT_TRUE(write_new_model({.path = folder.path() / "trees", .every_step = true}, "check_tree"));
  const auto trees = load_model(folder.path() / "trees");
  ASSERT_TRUE(trees) << trees.error().message;
  EXPECT_EQ((*trees)->unfolding->takes(**trees), "tree");
  EXPECT_TRUE((*trees)->outputs[0].every);
}

}  // namespace
}  // namespace volvox
