#include <algorithm>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/actors/node/request_check_fixture.h"

namespace volvox {
namespace {

using testing::ElementsAre;

TEST_F(RequestCheck, FindsInputsByNameInAnyOrder) {
  const auto checked = check_request(model_, body_);
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(checked->lengths[0], 3U);
  EXPECT_EQ(checked->inputs[0].data(), body_.inputs[1].bytes.data());
  EXPECT_EQ(checked->inputs[1].data(), body_.inputs[0].bytes.data());
  EXPECT_EQ(checked->narrowed, nullptr);
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

TEST_F(RequestCheck, WideIdsAreTakenWhereTheyFit) {
  std::vector<std::int64_t> wide{0, 5, 99};
  body_.inputs[1] = wire_tensor("ids", std::span<const std::int64_t>(wide));
  const auto checked = check_request(model_, body_);
  ASSERT_TRUE(checked) << checked.error().message;
  ASSERT_NE(checked->narrowed, nullptr);
  EXPECT_TRUE(std::ranges::equal(checked->inputs[0], std::as_bytes(std::span(ids_))));
  EXPECT_TRUE(std::ranges::equal(checked->inputs[1], std::as_bytes(std::span(x_))));
  for (const auto& input : {checked->inputs[0], checked->inputs[1]}) {
    const auto at = static_cast<std::size_t>(input.data() - checked->narrowed->data());
    EXPECT_EQ(at % WireBuffer::kAlignment, 0U);
    EXPECT_LE(at + input.size(), checked->narrowed->size());
  }
  EXPECT_GE(checked->host_bytes, checked->narrowed->size());

  wide[1] = 100;
  EXPECT_EQ(refusal(), "input 'ids' has the id 100 at 1; ids must be at least 0 and below 100");
  Model any = two_inputs();
  any.inputs[0].vocabulary = 0;
  wide[2] = std::int64_t{1} << 32;
  const auto refused = check_request(any, body_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "input 'ids' has 4294967296 at 2, which is no i32");
}

TEST_F(RequestCheck, ABatchDimensionIsExplained) {
  body_.inputs[1] = wire_tensor("ids", std::span<const std::int32_t>(ids_), {1, 3});
  EXPECT_EQ(refusal(),
            "input 'ids' must have the shape [3], a row for each step, not [1, 3]; leave the batch dimension "
            "out: requests are batched here");
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
  EXPECT_EQ(refusal(), "the chain's length must be between 1 and 10 (the model's max_length), not 0");
  body_.structure = ChainStructure{11};
  EXPECT_EQ(refusal(), "the chain's length must be between 1 and 10 (the model's max_length), not 11");
  body_.structure = TreeStructure{};
  EXPECT_EQ(refusal(), "this model unfolds along a chain; send a chain with its length");
}

}  // namespace
}  // namespace volvox
