#include <gtest/gtest.h>

#include "cells/ir/check_hash.h"
#include "cells/library/check.h"
#include "cells/model/assemble.h"
#include "cli/load/model_verifier.h"

namespace volvox {
namespace {

TEST(ModelVerifier, ChecksTreesByTheirShape) {
  ModelDefinition definition{.name = "tree", .unfolding = "tree"};
  definition.cells.push_back({.name = "tree", .kind = "check_tree"});
  definition.inputs.push_back({.name = "tokens"});
  definition.outputs.push_back({.name = "state"});
  auto model = assemble(definition, Weights{}, {}, "f");
  ASSERT_TRUE(model) << model.error().message;
  auto verifier = ModelVerifier::make(std::make_shared<const Model>(std::move(*model)));
  ASSERT_TRUE(verifier) << verifier.error().message;
  EXPECT_EQ((*verifier)->takes(), "tree");
  const std::vector<std::uint64_t> values{
      check_hash(check_hash(check_hash(0, 3), check_hash(0, 1)), check_hash(0, 2))};
  ReplyBody answer;
  answer.outputs.push_back(wire_tensor("state", std::span(values), {}));
  EXPECT_EQ((*verifier)->check({{1, 2, 3}, {2, 2, -1}}, answer).value(), "");
  EXPECT_NE((*verifier)->check({{2, 1, 3}, {2, 2, -1}}, answer).value(), "");
  EXPECT_NE((*verifier)->check({{1, 2, 3}, {1, 2, -1}}, answer).value(), "");
}

}  // namespace
}  // namespace volvox
