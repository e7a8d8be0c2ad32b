#include "actors/cluster/cluster_frames.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "protocol/codec/codec.h"
#include "protocol/codec/packed_body.h"

namespace volvox {
namespace {

const WireLimits kLimits;

TEST(ClusterFrames, AnAnswerArrivesAsItWasSent) {
  const std::vector<float> values{1, 2, 3};
  Outcome outcome;
  WireTensor tensor;
  tensor.name = "h";
  tensor.type = WireType::kF32;
  tensor.shape = WireShape{3};
  tensor.bytes = std::as_bytes(std::span(values));
  outcome.outputs = {&tensor, 1};
  outcome.cells = 24;
  outcome.compute_us = 77;
  outcome.session =
      WireSessionToken{11, 12, 13, SessionOperation::kContinue, 14, 15, 16, 17, 18, "node-a", "node-b"};
  const ClusterResult result = result_frames({1, 2, 3}, outcome, false, 5, kLimits);
  EXPECT_FALSE(result.final);
  const auto read = read_result(result, kLimits);
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(read->index, 5U);
  EXPECT_EQ(read->outcome.cells, 24U);
  EXPECT_EQ(read->outcome.compute_us, 77U);
  EXPECT_EQ(read->outcome.session, outcome.session);
  ASSERT_EQ(read->outcome.outputs.size(), 1U);
  EXPECT_EQ(read->outcome.outputs[0].name, "h");
  EXPECT_EQ(std::memcmp(read->outcome.outputs[0].bytes.data(), values.data(), sizeof(float) * 3), 0);
  EXPECT_EQ(read->outcome.encoded, result.body) << "goes on as it came";
}

TEST(ClusterFrames, AnErrorIsAlwaysTheEnd) {
  Outcome outcome;
  outcome.error = Error{ErrorCode::kOverloaded, "later"};
  outcome.retry_after_us = 9;
  const ClusterResult result = result_frames({1, 2, 3}, outcome, false, 0, kLimits);
  EXPECT_TRUE(result.final);
  const auto read = read_result(result, kLimits);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->outcome.error, outcome.error);
  EXPECT_EQ(read->outcome.retry_after_us, 9U);
  EXPECT_FALSE(read_result({{1, 2, 3}, true, nullptr, nullptr}, kLimits)) << "no header";
}

TEST(ClusterFrames, ARequestTravelsWithTheTimeThatIsLeft) {
  const auto asked = std::make_shared<IncomingRequest>();
  IncomingRequest& request = *asked;
  request.header.request_id = 4;
  request.account = "alice";
  request.connection = 77;
  request.header.model = std::string("mt");
  request.header.deadline_us = 1000;
  request.header.stream = true;
  request.arrival = TimePoint(std::chrono::seconds(1));
  request.body = IncomingBody(WireBuffer::zeroed(8));
  const auto sent = [&](int us, AnswerSoFar so_far) {
    return submit_frames({1, 2, 3}, asked, asked->body.message(asked, kLimits).value(), so_far,
                         request.arrival + std::chrono::microseconds(us), kLimits);
  };
  const auto submit = sent(400, {8, 3});
  ASSERT_TRUE(submit) << to_string(submit.error());
  EXPECT_EQ(submit->deadline_us, 600U);
  EXPECT_EQ(submit->body, *request.body.message(asked, kLimits)) << "as it came";
  EXPECT_EQ(submit->account, "alice");
  EXPECT_EQ(submit->connection, 77U) << "the node shares among the router's clients";
  const auto header = decode_request_header(submit->header->bytes(), kLimits);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->model, "mt");
  EXPECT_EQ(header->stream_from, 7U) << "the last row once more";
  EXPECT_EQ(header->model_version, 3U) << "of which those rows are";
  const auto first = sent(400, {0, 3});
  EXPECT_EQ(decode_request_header(first->header->bytes(), kLimits)->model_version, 0U)
      << "as it was asked for";
  EXPECT_EQ(first->version, 3U);
  EXPECT_EQ(sent(5000, {})->deadline_us, 1U) << "too late, but not without a deadline";
  request.header.deadline_us = 0;
  EXPECT_EQ(sent(400, {})->deadline_us, 0U);
}

// What the HTTP door of a router decodes is encoded here at the latest.
TEST(ClusterFrames, ADecodedBodyIsEncoded) {
  const std::vector<std::int32_t> tokens{3, 1, 4};
  RequestBody body;
  body.structure = ChainStructure{3};
  body.inputs.push_back(wire_tensor("tokens", std::span(tokens)));
  auto packed = pack_request_body(body, kLimits);
  ASSERT_TRUE(packed);
  const auto request = std::make_shared<IncomingRequest>();
  request->header.request_id = 4;
  request->header.model = std::string("mt");
  request->body = IncomingBody(std::move(*packed));
  const auto body_sent = request->body.message(request, kLimits);
  ASSERT_TRUE(body_sent);
  const auto submit = submit_frames({1, 2, 3}, request, *body_sent, {}, TimePoint(), kLimits);
  ASSERT_TRUE(submit) << to_string(submit.error());
  const auto read = read_request_body(submit->body, kLimits);
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_TRUE(std::ranges::equal(*read->inputs.front().values<std::int32_t>(), tokens));
}

}  // namespace
}  // namespace volvox
