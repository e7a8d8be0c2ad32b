#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "actors/node/request_check.h"
#include "cells/unfold/sequence.h"

namespace volvox {

// Two inputs (ids, and vectors of two floats), two outputs.
inline Model two_inputs() {
  Model model;
  model.name = "two";
  model.unfolding = sequence_unfolding();
  model.max_length = model.sequences[0].max_length = 10;
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

}  // namespace volvox
