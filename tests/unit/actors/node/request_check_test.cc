#include "actors/node/request_check.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cells/unfold/sequence.h"
#include "cells/unfold/tree/tree.h"

namespace volvox {
namespace {

using testing::ElementsAre;

// Two inputs (ids, and vectors of two floats), two outputs.
Model two_inputs() {
  Model model;
  model.name = "two";
  model.unfolding = sequence_unfolding();
  model.max_length = 10;
  model.inputs = {{"ids", DType::kI32, {}, 100}, {"x", DType::kF32, {2}, 0}};
  model.outputs = {{"h", DType::kF32, {4}, false}, {"each", DType::kF32, {4}, true}};
  return model;
}

class RequestCheck : public testing::Test {
 protected:
  RequestCheck() {
    body_.structure = ChainStructure{3};
    body_.inputs = {wire_tensor("x", std::span<const float>(x_), {3, 2}),
                    wire_tensor("ids", std::span<const std::int32_t>(ids_))};
  }
  std::string refusal() const {
    const auto checked = check_request(model_, body_);
    if (checked) return "";
    EXPECT_EQ(checked.error().code, ErrorCode::kInvalidArgument);
    return checked.error().message;
  }

  const Model model_ = two_inputs();
  std::vector<std::int32_t> ids_{0, 5, 99};
  std::vector<float> x_{1, 2, 3, 4, 5, 6};
  RequestBody body_;
};

TEST_F(RequestCheck, FindsInputsByNameInAnyOrder) {
  const auto checked = check_request(model_, body_);
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(checked->length, 3U);
  EXPECT_EQ(checked->inputs[0], &body_.inputs[1]);
  EXPECT_EQ(checked->inputs[1], &body_.inputs[0]);
  EXPECT_THAT(checked->outputs, ElementsAre(0U, 1U));
}

TEST_F(RequestCheck, TakesTheWantedOutputsInTheirOrder) {
  body_.outputs = {"each", "h", "each"};
  const auto checked = check_request(model_, body_);
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_THAT(checked->outputs, ElementsAre(1U, 0U));
  body_.outputs = {"c"};
  EXPECT_EQ(refusal(), "output 'c' is none of the model's; it has 'h', 'each'");
}

TEST_F(RequestCheck, IdsAreInTheVocabulary) {
  ids_[1] = 100;
  EXPECT_EQ(refusal(), "input 'ids' has the id 100 at 1; ids must be at least 0 and below 100");
  ids_[1] = -1;
  EXPECT_EQ(refusal(), "input 'ids' has the id -1 at 1; ids must be at least 0 and below 100");
}

TEST_F(RequestCheck, NumbersAreFinite) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
    x_[4] = bad;
    EXPECT_EQ(refusal(), "input 'x' has a NaN or an infinity at 4; send numbers only");
  }
  for (const float good : {std::numeric_limits<float>::max(), std::numeric_limits<float>::lowest(),
                           std::numeric_limits<float>::denorm_min(), -0.0F}) {
    x_[4] = good;
    EXPECT_EQ(refusal(), "");
  }
}

TEST_F(RequestCheck, ShapesAndTypesFit) {
  body_.inputs[0] = wire_tensor("x", std::span<const float>(x_), {2, 3});
  EXPECT_EQ(refusal(), "input 'x' must have the shape [3, 2], a row for each step, not [2, 3]");
  body_.inputs[0] = wire_tensor("x", std::span<const std::int32_t>(ids_));
  EXPECT_EQ(refusal(), "input 'x' must be of type f32, not i32");
}

TEST_F(RequestCheck, EveryInputOnceAndNoOther) {
  body_.inputs.push_back(body_.inputs[0]);
  EXPECT_EQ(refusal(), "input 'x' is given twice; give it once");
  body_.inputs.resize(1);
  EXPECT_EQ(refusal(), "input 'ids' is missing; give it");
  body_.inputs[0].name = "y";
  EXPECT_EQ(refusal(), "input 'y' is none of the model's; it has 'ids', 'x'");
}

TEST_F(RequestCheck, LengthsHaveBounds) {
  body_.structure = ChainStructure{0};
  EXPECT_EQ(refusal(), "the chain's length must be between 1 and 10, not 0");
  body_.structure = ChainStructure{11};
  EXPECT_EQ(refusal(), "the chain's length must be between 1 and 10, not 11");
  body_.structure = TreeStructure{};
  EXPECT_EQ(refusal(), "this model unfolds along a chain; send a chain with its length");
}

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
  EXPECT_EQ(checked->length, 3U);
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
