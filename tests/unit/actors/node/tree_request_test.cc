#include "cells/unfold/tree/tree.h"
#include "tests/unit/actors/node/request_check_fixture.h"

namespace volvox {
namespace {

// Trees whose inner nodes read the ids, or do not.
Model tree_model(bool inner_pulls) {
  Model model = two_inputs();
  model.unfolding = std::make_shared<const TreeUnfolding>(TreePlan{.inner_pulls = inner_pulls});
  return model;
}

class TreeCheck : public RequestCheck {
 protected:
  TreeCheck() { body_.structure = TreeStructure{parents_}; }
  std::string refusal(const Model& model) const {
    const auto checked = check_request(model, body_);
    return checked ? "" : checked.error().message;
  }

  std::vector<std::int32_t> parents_{2, 2, -1};
};

TEST_F(TreeCheck, TakesATreeAndCountsItsNodes) {
  const auto checked = check_request(tree_model(true), body_);
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(checked->lengths[0], 3U);
  EXPECT_EQ(checked->host_bytes, 3 * TreePlan::kBytesPerNode);
}

TEST_F(TreeCheck, OnlyIdsThatAreReadMustBeInTheVocabulary) {
  ids_ = {0, 5, -1};
  EXPECT_EQ(refusal(tree_model(false)), "");
  EXPECT_EQ(refusal(tree_model(true)),
            "input 'ids' has the id -1 at 2; ids must be at least 0 and below 100");
  ids_ = {0, 100, -1};
  EXPECT_EQ(refusal(tree_model(false)),
            "input 'ids' has the id 100 at 1; ids must be at least 0 and below 100");
}

TEST_F(TreeCheck, SaysWhatIsNoTree) {
  const Model model = tree_model(true);
  body_.inputs[0] = wire_tensor("x", std::span<const float>(x_), {2, 3});
  EXPECT_EQ(refusal(model), "input 'x' must have the shape [3, 2], a row for each node, not [2, 3]");
  parents_ = {1, 0, -1};
  EXPECT_EQ(refusal(model),
            "the parent of node 1 is 0; it must be a later node, for children come before parents");
  parents_.assign(11, 10);
  body_.structure = TreeStructure{parents_};
  EXPECT_EQ(refusal(model), "the tree must have at most 10 nodes, not 11");
  body_.structure = ChainStructure{3};
  EXPECT_EQ(refusal(model), "this model unfolds along a tree; send a tree with each node's parent");
}

}  // namespace
}  // namespace volvox
