#include "cli/load/model_verifier.h"

#include <gtest/gtest.h>

#include "cells/ir/check_hash.h"
#include "cells/library/check.h"
#include "cells/unfold/sequence.h"

namespace volvox {
namespace {

// A chain of check cells, as `volvox models new check` writes one.
std::shared_ptr<Model> check_model() {
  auto model = std::make_shared<Model>();
  model->name = "check";
  const auto cell = check_cell("check");
  EXPECT_TRUE(cell.has_value());
  CellTypeSpec type;
  type.name = "check";
  type.cell = *cell;
  model->types.push_back(type);
  model->pools.push_back({{{"state", {}, DType::kU64, 0.0}}});
  LaneSpec lane;
  lane.edges.push_back({.gather = 0, .from = 0, .offset = -1, .stride = 1});
  lane.pushes[0] = {.output = 0, .every = false};
  model->plan.lanes.push_back(lane);
  model->unfolding = sequence_unfolding();
  model->inputs.push_back({"tokens", DType::kI32, {}, 100});
  model->outputs.push_back({"state", DType::kU64, {}, false});
  return model;
}

const RequestContent kContent{{5, 99, 0, 17}, {}};

std::vector<std::uint64_t> right_answer() {
  std::uint64_t state = 0;
  for (const std::int32_t token : kContent.tokens)
    state = check_hash(state, static_cast<std::uint64_t>(token));
  return {state};
}

class CheckModel : public testing::Test {
 protected:
  void SetUp() override {
    auto verifier = ModelVerifier::make(check_model());
    ASSERT_TRUE(verifier.has_value()) << verifier.error().message;
    verifier_ = std::move(*verifier);
  }

  std::string complaint(const std::vector<std::uint64_t>& values, const char* name = "state") {
    ReplyBody answer;
    answer.outputs.push_back(wire_tensor(name, std::span(values)));
    const auto result = verifier_->check(kContent, answer);
    EXPECT_TRUE(result.has_value());
    return result.value_or("error");
  }

  std::unique_ptr<ModelVerifier> verifier_;
};

TEST_F(CheckModel, TellsWhatALoadMustKnow) {
  EXPECT_EQ(verifier_->model(), "check");
  EXPECT_EQ(verifier_->input(), "tokens");
  EXPECT_EQ(verifier_->vocabulary(), 100);
  EXPECT_TRUE(verifier_->exact());
}

TEST_F(CheckModel, OnlyTheRightAnswerPasses) {
  EXPECT_EQ(complaint(right_answer()), "");
  EXPECT_NE(complaint({right_answer()[0] + 1}), "");
  EXPECT_NE(complaint({right_answer()[0], 0}), "");
  EXPECT_NE(complaint({}), "");
  EXPECT_NE(complaint(right_answer(), "other"), "");
}

TEST_F(CheckModel, AnotherTypeOrNothingIsWrong) {
  const std::vector<double> doubles{1.0};
  ReplyBody answer;
  answer.outputs.push_back(wire_tensor("state", std::span(doubles)));
  EXPECT_NE(verifier_->check(kContent, answer).value(), "");
  EXPECT_NE(verifier_->check(kContent, ReplyBody{}).value(), "");
}

TEST_F(CheckModel, ATokenTheModelHasNotIsTheVerifiersError) {
  ReplyBody answer;
  const std::vector<std::uint64_t> values{1};
  answer.outputs.push_back(wire_tensor("state", std::span(values)));
  EXPECT_FALSE(verifier_->check({{100}, {}}, answer).has_value());
}

TEST(ModelVerifier, RefusesModelsThatALoadCannotFeed) {
  auto model = check_model();
  model->inputs.push_back({"more", DType::kI32, {}, 0});
  EXPECT_TRUE(ModelVerifier::make(model).value()->can_be_loaded()) << "each has a row for each step";
  model->inputs.back().dtype = DType::kU64;
  EXPECT_FALSE(ModelVerifier::make(model).value()->can_be_loaded());
  auto pairs = check_model();
  pairs->inputs[0].shape = {2};
  EXPECT_FALSE(ModelVerifier::make(pairs).value()->can_be_loaded());
}

TEST(ModelVerifier, KnowsRowsOfNumbers) {
  EXPECT_TRUE(ModelVerifier::make(check_model()).value()->row_shape().empty());
  auto frames = check_model();
  frames->inputs[0].dtype = DType::kF32;
  frames->inputs[0].shape = {80, 2};
  EXPECT_TRUE(ModelVerifier::make(frames).value()->can_be_loaded());
  EXPECT_EQ(ModelVerifier::make(frames).value()->row_shape(), (std::vector<std::uint32_t>{80, 2}));
  frames->inputs.push_back({"more", DType::kI32, {}, 0});
  EXPECT_FALSE(ModelVerifier::make(frames).value()->can_be_loaded());
}

}  // namespace
}  // namespace volvox
