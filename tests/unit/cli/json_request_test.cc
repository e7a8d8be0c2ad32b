#include "cli/json_request.h"

#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace volvox {
namespace {

using nlohmann::json;

Result<OwnedRequest> parse(const char* text) {
  return request_from_json(json::parse(text));
}

TEST(JsonRequest, TokensAreShortForAnInput) {
  auto parsed = parse(R"({"model": "lstm", "tokens": [12, 7, 301]})");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  const OwnedRequest moved = std::move(*parsed);
  const ClientRequest& request = moved.request;
  EXPECT_EQ(request.header.model, "lstm");
  EXPECT_EQ(std::get<ChainStructure>(request.body.structure).length, 3U);
  ASSERT_EQ(request.body.inputs.size(), 1U);
  EXPECT_EQ(request.body.inputs[0].name, "tokens");
  EXPECT_EQ(request.body.inputs[0].shape, WireShape({3}));
  const auto values = request.body.inputs[0].values<std::int32_t>();
  ASSERT_TRUE(values.has_value());
  EXPECT_EQ(std::vector<std::int32_t>(values->begin(), values->end()),
            (std::vector<std::int32_t>{12, 7, 301}));
}

TEST(JsonRequest, TensorsHaveTypesAndShapes) {
  const auto parsed = parse(R"({"model": "m", "version": 3, "deadline_ms": 250, "priority": "high",
    "outputs": ["h", "c"],
    "inputs": {"frames": {"type": "f32", "shape": [2, 3], "data": [0, 1, 2.5, -3, 4, 5]},
               "state": {"type": "u64", "data": [18446744073709551615, 0]}}})");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  const ClientRequest& request = parsed->request;
  EXPECT_EQ(request.header.model_version, 3U);
  EXPECT_EQ(request.header.deadline_us, 250000U);
  EXPECT_EQ(request.header.priority, WirePriority::kHigh);
  EXPECT_EQ(std::get<ChainStructure>(request.body.structure).length, 2U);
  ASSERT_EQ(request.body.outputs.size(), 2U);
  EXPECT_EQ(request.body.outputs[1], "c");
  ASSERT_EQ(request.body.inputs.size(), 2U);
  EXPECT_EQ(request.body.inputs[0].shape, WireShape({2, 3}));
  EXPECT_EQ((*request.body.inputs[0].values<float>())[2], 2.5F);
  EXPECT_EQ((*request.body.inputs[1].values<std::uint64_t>())[0], std::numeric_limits<std::uint64_t>::max());
}

TEST(JsonRequest, ALengthAloneWillDo) {
  const auto parsed = parse(R"({"model": "noop", "length": 5})");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(std::get<ChainStructure>(parsed->request.body.structure).length, 5U);
  EXPECT_TRUE(parsed->request.body.inputs.empty());
}

TEST(JsonRequest, AStructureIsWrittenAsOverHttp) {
  auto parsed =
      parse(R"({"model": "tree", "tokens": [12, 7, 0], "structure": {"tree": {"parents": [2, 2, -1]}}})");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  const OwnedRequest moved = std::move(*parsed);
  const auto* tree = std::get_if<TreeStructure>(&moved.request.body.structure);
  ASSERT_NE(tree, nullptr);
  EXPECT_EQ(std::vector<std::int32_t>(tree->parents.begin(), tree->parents.end()),
            (std::vector<std::int32_t>{2, 2, -1}));
  EXPECT_EQ(moved.request.header.cells_hint, 3U);
}

TEST(JsonRequest, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"[]", "object"},
      {"7", "object"},
      {"{}", "\"model\""},
      {R"({"model": 7, "tokens": [1]})", "\"model\""},
      {R"({"model": "m"})", "\"tokens\""},
      {R"({"model": "m", "tokens": 7})", "'tokens'"},
      {R"({"model": "m", "tokens": [1, "x"]})", "at 1"},
      {R"({"model": "m", "tokens": [1.5]})", "at 0"},
      {R"({"model": "m", "tokens": [2147483648]})", "at 0"},
      {R"({"model": "m", "tokens": [-2147483649]})", "at 0"},
      {R"({"model": "m", "tokens": [null]})", "at 0"},
      {R"({"model": "m", "tokens": [1], "typo": 1})", "\"typo\""},
      {R"({"model": "m", "tokens": [1], "version": -1})", "\"version\""},
      {R"({"model": "m", "tokens": [1], "deadline_ms": 0.5})", "\"deadline_ms\""},
      {R"({"model": "m", "tokens": [1], "priority": "urgent"})", "\"priority\""},
      {R"({"model": "m", "tokens": [1], "priority": 3})", "\"priority\""},
      {R"({"model": "m", "tokens": [1], "outputs": "h"})", "\"outputs\""},
      {R"({"model": "m", "tokens": [1], "outputs": [1]})", "\"outputs\""},
      {R"({"model": "m", "length": 4294967296})", "\"length\""},
      {R"({"model": "m", "length": "3"})", "\"length\""},
      {R"({"model": "m", "tokens": [1], "structure": 3})", "'structure'"},
      {R"({"model": "m", "tokens": [1], "structure": {"tree": {"parents": 3}}})", "\"parents\""},
      {R"({"model": "m", "tokens": [1], "structure": {"bush": {}}})", "\"bush\""},
      {R"({"model": "m", "tokens": [1], "structure": {"tree": {"parents": [7]}}})", "tree.parents[0] is 7"},
      {R"({"model": "m", "length": 1, "structure": {"tree": {"parents": [-1]}}})", "not both"},
      {R"({"model": "m", "inputs": [1]})", "\"inputs\""},
      {R"({"model": "m", "inputs": {"x": [1]}})", "'x'"},
      {R"({"model": "m", "inputs": {"x": {"data": [1], "shap": [1]}}})", "\"shap\""},
      {R"({"model": "m", "inputs": {"x": {"data": [1], "type": "float"}}})", "\"float\""},
      {R"({"model": "m", "inputs": {"x": {"data": [1], "type": 3}}})", "type"},
      {R"({"model": "m", "inputs": {"x": {"data": [1], "type": "f16"}}})", "type"},
      {R"({"model": "m", "inputs": {"x": {"data": [-1], "type": "u8"}}})", "at 0"},
      {R"({"model": "m", "inputs": {"x": {"data": [256], "type": "u8"}}})", "at 0"},
      {R"({"model": "m", "inputs": {"x": {"data": [1], "shape": 1}}})", "\"shape\""},
      {R"({"model": "m", "inputs": {"x": {"data": [1], "shape": [-1]}}})", "\"shape\""},
      {R"({"model": "m", "inputs": {"x": {"data": [1], "shape": [1,1,1,1,1,1,1,1,1]}}})", "\"shape\""},
  };
  for (const auto& [text, part] : cases) {
    const auto parsed = parse(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument) << text;
    EXPECT_NE(parsed.error().message.find(part), std::string::npos) << text << ": " << parsed.error().message;
  }
}

TEST(JsonReply, AnswersBecomeNumbers) {
  const std::vector<float> h{0.25F, -0.5F};
  const std::vector<std::uint64_t> state{std::numeric_limits<std::uint64_t>::max()};
  Reply reply;
  reply.header.cells = 24;
  reply.header.timings = {100, 2500, 2700};
  reply.header.server = "volvox";
  reply.body.outputs = {wire_tensor("h", std::span(h), {1, 2}), wire_tensor("state", std::span(state))};
  const json json = reply_to_json(reply);
  EXPECT_EQ(json["outputs"]["h"], json::parse(R"({"type": "f32", "shape": [1, 2], "data": [0.25, -0.5]})"));
  EXPECT_EQ(json["outputs"]["state"]["data"][0].get<std::uint64_t>(), state[0]);
  EXPECT_EQ(json["cells"], 24);
  EXPECT_EQ(json["timings_ms"]["compute"], 2.5);
  EXPECT_EQ(json["server"], "volvox");
  EXPECT_FALSE(json.contains("error"));
}

TEST(JsonReply, ErrorsHaveTheirCode) {
  Reply reply;
  reply.header = error_reply(7, Error{ErrorCode::kOverloaded, "full"});
  reply.header.retry_after_us = 50000;
  EXPECT_EQ(reply_to_json(reply),
            json::parse(R"({"error": {"code": "OVERLOADED", "message": "full", "retry_after_ms": 50.0}})"));
}

}  // namespace
}  // namespace volvox
