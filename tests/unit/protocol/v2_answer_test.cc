#include <cmath>
#include <cstring>
#include <limits>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "protocol/v2/datatype.h"
#include "protocol/v2/describe.h"
#include "protocol/v2/response_codec.h"
#include "protocol/v2/route.h"

namespace volvox {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// An answer of the model "m" with these outputs.
struct Sample {
  explicit Sample(std::vector<WireTensor> tensors) : outputs(std::move(tensors)) {
    answer.model = "m";
    answer.version = 3;
    answer.id = "a \"b\"";
    answer.outputs = outputs;
    answer.cells = 7;
    answer.timings = {10, 20, 30};
  }
  std::vector<WireTensor> outputs;
  V2Answer answer;
};

const std::vector<float> kFloats{
    0.1F,  -1.0F,      std::numeric_limits<float>::max(), std::numeric_limits<float>::denorm_min(),
    -0.0F, 16777217.0F};
const std::vector<std::uint64_t> kStates{0, 18446744073709551615ULL};

TEST(V2Answer, InJson) {
  const Sample sample(
      {wire_tensor("h", std::span(kFloats), {2, 3}), wire_tensor("state", std::span(kStates))});
  const auto content = encode_v2_answer(sample.answer, {});
  ASSERT_TRUE(content) << content.error().message;
  EXPECT_FALSE(content->binary);
  EXPECT_EQ(content->json_bytes, content->bytes.size());
  EXPECT_LE(content->bytes.size(), v2_answer_bound(sample.answer, {}));
  const json answer = json::parse(content->bytes);
  EXPECT_EQ(answer["model_name"], "m");
  EXPECT_EQ(answer["model_version"], "3");
  EXPECT_EQ(answer["id"], "a \"b\"");
  EXPECT_EQ(answer["parameters"],
            (json{{"cells", 7}, {"queue_us", 10}, {"compute_us", 20}, {"total_us", 30}}));
  EXPECT_EQ(answer["outputs"][0]["datatype"], "FP32");
  EXPECT_EQ(answer["outputs"][0]["shape"], json({2, 3}));
  // The same bits come back, signs of zero included.
  for (std::size_t i = 0; i < kFloats.size(); ++i) {
    const auto back = answer["outputs"][0]["data"][i].get<float>();
    EXPECT_EQ(std::memcmp(&back, &kFloats[i], sizeof back), 0) << kFloats[i];
  }
  EXPECT_EQ(answer["outputs"][1]["data"][1], kStates[1]);
}

TEST(V2Answer, EveryDatatype) {
  for (std::size_t i = 0; i < kWireTypes; ++i) {
    const auto type = static_cast<WireType>(i);
    EXPECT_EQ(wire_type_from_v2(v2_datatype(type)), type);
    const std::vector<std::byte> bytes(2 * element_bytes(type), std::byte{1});
    const WireTensor tensor{"x", type, {2}, bytes};
    const Sample sample({tensor});
    const auto content = encode_v2_answer(sample.answer, {});
    EXPECT_EQ(content.has_value(), v2_json_carries(type)) << v2_datatype(type);
    if (!content) continue;
    EXPECT_LE(content->bytes.size(), v2_answer_bound(sample.answer, {}));
    EXPECT_EQ(json::parse(content->bytes)["outputs"][0]["data"].size(), 2U) << v2_datatype(type);
  }
}

TEST(V2Answer, InBinary) {
  const Sample sample({wire_tensor("h", std::span(kFloats)), wire_tensor("state", std::span(kStates)),
                       wire_tensor("last", std::span(kStates))});
  V2Wishes wishes;
  wishes.outputs = {{"h", true}, {"state", false}, {"last", true}};
  const auto content = encode_v2_answer(sample.answer, wishes);
  ASSERT_TRUE(content) << content.error().message;
  EXPECT_TRUE(content->binary);
  EXPECT_LE(content->bytes.size(), v2_answer_bound(sample.answer, wishes));
  const json answer = json::parse(content->bytes.substr(0, content->json_bytes));
  EXPECT_EQ(answer["outputs"][0]["parameters"]["binary_data_size"], 24);
  EXPECT_FALSE(answer["outputs"][0].contains("data"));
  EXPECT_TRUE(answer["outputs"][1].contains("data"));
  ASSERT_EQ(content->bytes.size(), content->json_bytes + 24 + 16);
  EXPECT_EQ(std::memcmp(content->bytes.data() + content->json_bytes, kFloats.data(), 24), 0);
  EXPECT_EQ(std::memcmp(content->bytes.data() + content->json_bytes + 24, kStates.data(), 16), 0);
}

TEST(V2Answer, WithoutOutputs) {
  const Sample sample({});
  const auto content = encode_v2_answer(sample.answer, {});
  ASSERT_TRUE(content);
  EXPECT_EQ(json::parse(content->bytes)["outputs"], json::array());
}

TEST(V2Answer, WhatJsonCannotCarry) {
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    const std::vector<float> values{1, bad};
    const Sample sample({wire_tensor("h", std::span(values))});
    const auto content = encode_v2_answer(sample.answer, {});
    ASSERT_FALSE(content);
    EXPECT_EQ(content.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(content.error().message, HasSubstr("output 'h' has a value at 1 that is not finite"));
    V2Wishes wishes;
    wishes.binary = true;
    EXPECT_TRUE(encode_v2_answer(sample.answer, wishes));
  }
}

TEST(V2Answer, Errors) {
  EXPECT_EQ(v2_error_content("what to do"), R"({"error":"what to do"})");
  EXPECT_EQ(json::parse(v2_error_content("\xff\n\"")), (json{{"error", "??\""}}));
  EXPECT_LT(v2_error_content(std::string(100'000, 'x')).size(), 2000U);
}

TEST(V2Describe, AServerAndItsModels) {
  const json server = json::parse(v2_server_metadata("volvox", "1.2"));
  EXPECT_EQ(server["name"], "volvox");
  EXPECT_EQ(server["version"], "1.2");
  EXPECT_EQ(server["extensions"], json({"binary_tensor_data", "sequence", "statistics"}));
  V2ModelMetadata model{"m", {1, 3}, {{"tokens", WireType::kI32, {-1}}}, {{"h", WireType::kF32, {16}}}};
  const json metadata = json::parse(v2_model_metadata(model));
  EXPECT_EQ(metadata["versions"], json({"1", "3"}));
  EXPECT_EQ(metadata["inputs"][0], (json{{"name", "tokens"}, {"datatype", "INT32"}, {"shape", {-1}}}));
  EXPECT_EQ(metadata["outputs"][0]["shape"], json({16}));
  EXPECT_EQ(json::parse(v2_live_content()), (json{{"live", true}}));
  EXPECT_EQ(json::parse(v2_ready_content(false)), (json{{"ready", false}}));
  EXPECT_EQ(json::parse(v2_model_ready_content("m", true)), (json{{"name", "m"}, {"ready", true}}));
}

TEST(V2Describe, Statistics) {
  V2Statistics statistics;
  statistics.name = "m";
  statistics.version = 2;
  statistics.last_inference_ms = 1'700'000'000'000;
  statistics.executions = 5;
  statistics.success = {10, 1000};
  statistics.fail = {1, 20};
  const json all = json::parse(v2_statistics(statistics));
  ASSERT_EQ(all["model_stats"].size(), 1U);
  const json& model = all["model_stats"][0];
  EXPECT_EQ(model["version"], "2");
  EXPECT_EQ(model["inference_count"], 10);
  EXPECT_EQ(model["execution_count"], 5);
  EXPECT_EQ(model["inference_stats"]["success"], (json{{"count", 10}, {"ns", 1000}}));
  EXPECT_EQ(model["inference_stats"]["fail"]["ns"], 20);
}

TEST(V2Route, Paths) {
  const auto route = [](V2Endpoint endpoint, const char* model, std::uint32_t version) {
    return V2Route{endpoint, model, version};
  };
  EXPECT_EQ(parse_v2_route("/v2"), route(V2Endpoint::kServer, "", 0));
  EXPECT_EQ(parse_v2_route("/v2/"), route(V2Endpoint::kServer, "", 0));
  EXPECT_EQ(parse_v2_route("/v2/health/live"), route(V2Endpoint::kLive, "", 0));
  EXPECT_EQ(parse_v2_route("/v2/health/ready"), route(V2Endpoint::kReady, "", 0));
  EXPECT_EQ(parse_v2_route("/v2/models/m"), route(V2Endpoint::kModel, "m", 0));
  EXPECT_EQ(parse_v2_route("/v2/models/m/ready"), route(V2Endpoint::kModelReady, "m", 0));
  EXPECT_EQ(parse_v2_route("/v2/models/m/infer"), route(V2Endpoint::kInfer, "m", 0));
  EXPECT_EQ(parse_v2_route("/v2/models/infer/stats"), route(V2Endpoint::kStatistics, "infer", 0));
  EXPECT_EQ(parse_v2_route("/v2/models/m/versions/4294967295"), route(V2Endpoint::kModel, "m", 4294967295U));
  EXPECT_EQ(parse_v2_route("/v2/models/m/versions/3/infer"), route(V2Endpoint::kInfer, "m", 3));
}

TEST(V2Route, PathsThatThereAreNot) {
  for (const char* bad :
       {"", "v2", "/", "//", "/v1", "/v2/health", "/v2/health/up", "/v2/models", "/v2/models/",
        "/v2/models//infer", "/v2/models/m/infer/x", "/v2/models/m/versions", "/v2/models/m/versions/",
        "/v2/models/m/load", "/v2/models/m//infer", "/v2/health/live/x", "/V2"}) {
    const auto route = parse_v2_route(bad);
    ASSERT_FALSE(route) << bad;
    EXPECT_EQ(route.error().code, ErrorCode::kModelNotFound) << bad;
  }
  for (const char* bad : {"0", "-1", "x", "1x", "4294967296", "1.0", "+1"}) {
    const auto route = parse_v2_route("/v2/models/m/versions/" + std::string(bad) + "/infer");
    ASSERT_FALSE(route) << bad;
    EXPECT_EQ(route.error().code, ErrorCode::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace volvox
