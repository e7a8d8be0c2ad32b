#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <gtest/gtest.h>

#include "protocol/codec/codec.h"
#include "protocol/volvox.capnp.h"
#include "tests/unit/protocol/samples.h"

namespace volvox {
namespace {

using test::contains;
using test::kLimits;

RequestBody round_trip(const RequestBody& body) {
  const auto bytes = encode_request_body(body, kLimits);
  EXPECT_TRUE(bytes) << to_string(bytes.error());
  auto decoded = decode_request_body(bytes->bytes(), kLimits);
  EXPECT_TRUE(decoded) << to_string(decoded.error());
  return std::move(decoded).value();
}

void expect_same(const WireTensor& a, const WireTensor& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.type, b.type);
  EXPECT_EQ(a.shape, b.shape);
  ASSERT_EQ(a.bytes.size(), b.bytes.size());
  EXPECT_TRUE(a.bytes.empty() || std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0);
}

TEST(RequestBodyCodec, KeepsAChain) {
  const auto tokens = test::sample_tokens();
  const RequestBody body = test::chain_body(tokens);
  const RequestBody decoded = round_trip(body);
  EXPECT_EQ(std::get<ChainStructure>(decoded.structure), ChainStructure{24});
  ASSERT_EQ(decoded.inputs.size(), 1U);
  expect_same(decoded.inputs[0], body.inputs[0]);
  EXPECT_EQ(decoded.outputs, std::vector<std::string_view>{"h"});
  const auto values = decoded.inputs[0].values<std::int32_t>();
  ASSERT_TRUE(values);
  EXPECT_EQ(std::vector<std::int32_t>(values->begin(), values->end()), tokens);
  EXPECT_EQ(decoded.inputs[0].values<float>().error().message, "tensor 'token' holds i32, not f32");
}

TEST(RequestBodyCodec, KeepsEveryElementTypeAndRank) {
  std::vector<std::byte> data(1 << 12, std::byte{0x5a});
  std::vector<WireTensor> tensors;
  std::vector<std::string> names;
  for (std::size_t type = 0; type < kWireTypes; ++type)
    names.push_back(std::string("t") + std::to_string(type));
  for (std::size_t type = 0; type < kWireTypes; ++type) {
    WireTensor tensor;
    tensor.name = names[type];
    tensor.type = static_cast<WireType>(type);
    for (std::size_t axis = 0; axis < type % 9; ++axis) tensor.shape.append(axis < 3 ? 3 : 1);
    tensor.bytes = std::span(data).first(*tensor_bytes(tensor.type, tensor.shape));
    tensors.push_back(tensor);
  }
  RequestBody body;
  body.structure = ChainStructure{1};
  body.inputs = tensors;
  const RequestBody decoded = round_trip(body);
  ASSERT_EQ(decoded.inputs.size(), tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) expect_same(decoded.inputs[i], tensors[i]);
}

TEST(RequestBodyCodec, TypeNamesGoBothWays) {
  for (std::size_t type = 0; type < kWireTypes; ++type) {
    EXPECT_EQ(wire_type_from(to_string(static_cast<WireType>(type))), static_cast<WireType>(type));
  }
  EXPECT_FALSE(wire_type_from("f8"));
}

TEST(RequestBodyCodec, KeepsEmptyTensorsAndScalars) {
  RequestBody body;
  body.structure = ChainStructure{1};
  const float scalar = 2.5F;
  body.inputs = {wire_tensor("none", std::span<const float>{}, {0, 80}),
                 wire_tensor("one", std::span(&scalar, 1), WireShape{})};
  const RequestBody decoded = round_trip(body);
  EXPECT_EQ(decoded.inputs[0].shape, (WireShape{0, 80}));
  EXPECT_TRUE(decoded.inputs[0].bytes.empty());
  EXPECT_EQ(decoded.inputs[1].values<float>()->front(), 2.5F);
}

TEST(RequestBodyCodec, AlignsEveryTensorWhereverTheBytesLay) {
  const std::vector<std::uint8_t> odd(13, 1);
  const std::vector<double> doubles{1.5, -2.5};
  RequestBody body;
  body.structure = ChainStructure{2};
  body.inputs = {wire_tensor("odd", std::span(odd)), wire_tensor("doubles", std::span(doubles))};
  const auto bytes = encode_request_body(body, kLimits);
  std::vector<std::byte> room(bytes->size() + 8);
  for (std::size_t shift = 0; shift < 8; ++shift) {
    std::memcpy(room.data() + shift, bytes->data(), bytes->size());
    const auto decoded = decode_request_body({room.data() + shift, bytes->size()}, kLimits);
    ASSERT_TRUE(decoded) << to_string(decoded.error());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(decoded->storage->data()) % WireBuffer::kAlignment, 0U);
    for (const WireTensor& input : decoded->inputs) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(input.bytes.data()) % 8, 0U);
      EXPECT_GE(input.bytes.data(), decoded->storage->data());
      EXPECT_LE(input.bytes.data() + input.bytes.size(), decoded->storage->data() + decoded->storage->size());
    }
    EXPECT_EQ((*decoded->inputs[1].values<double>())[1], -2.5);
  }
}

TEST(RequestBodyCodec, ViewsOutliveTheFrameAndTheBody) {
  RequestBody copy;
  {
    const auto tokens = test::sample_tokens();
    const RequestBody decoded = round_trip(test::chain_body(tokens));
    copy = decoded;
  }
  EXPECT_EQ(copy.inputs[0].name, "token");
  EXPECT_EQ((*copy.inputs[0].values<std::int32_t>())[1], 1237);
}

TEST(RequestBodyCodec, ReadsWhatAnotherImplementationWrites) {
  // printf
  // '(structure=(chain=(length=3)),inputs=[(name="token",type=i32,shape=[3],data=0x"010000000200000003000000")],
  //          outputs=["h"])' | capnp encode protocol/volvox.capnp RequestBody | xxd -i
  const unsigned char kGolden[] = {
#include "tests/unit/protocol/golden_request_body.inc"
  };
  const auto body = decode_request_body(std::as_bytes(std::span(kGolden)), kLimits);
  ASSERT_TRUE(body) << to_string(body.error());
  EXPECT_EQ(std::get<ChainStructure>(body->structure), ChainStructure{3});
  EXPECT_EQ((*body->inputs[0].values<std::int32_t>())[2], 3);
  EXPECT_EQ(body->outputs.at(0), "h");
}

TEST(RequestBodyCodec, ReadsAMessageOfManySegments) {
  capnp::MallocMessageBuilder message(4, capnp::AllocationStrategy::FIXED_SIZE);
  auto root = message.initRoot<wire::RequestBody>();
  root.initStructure().initChain().setLength(2);
  auto inputs = root.initInputs(3);
  for (unsigned i = 0; i < 3; ++i) {
    inputs[i].setName(std::string("input") + std::to_string(i));
    inputs[i].setType(wire::ElementType::I64);
    inputs[i].initShape(1).set(0, 2);
    std::memset(inputs[i].initData(16).begin(), static_cast<int>(i + 1), 16);
  }
  ASSERT_GT(message.getSegmentsForOutput().size(), 4U);
  const auto words = capnp::messageToFlatArray(message);
  const auto bytes = std::as_bytes(std::span(words.asBytes().begin(), words.asBytes().size()));
  const auto body = decode_request_body(bytes, kLimits);
  ASSERT_TRUE(body) << to_string(body.error());
  EXPECT_EQ((*body->inputs[2].values<std::int64_t>())[1], 0x0303030303030303);
}

TEST(RequestBodyCodec, RefusesWrongTensors) {
  const std::vector<float> four(4, 1.0F);
  const auto refusal = [&](const std::vector<WireTensor>& inputs, WireLimits limits = {}) {
    RequestBody body;
    body.structure = ChainStructure{1};
    body.inputs = inputs;
    const auto bytes = encode_request_body(body, limits);
    return bytes ? std::string("accepted") : bytes.error().message;
  };
  const auto shaped = [&](WireShape shape) { return wire_tensor("x", std::span(four), shape); };
  EXPECT_EQ(refusal({shaped({2, 2})}), "accepted");
  EXPECT_EQ(refusal({shaped({5})}), "input 'x' of type f32 and shape [5] needs 20 bytes but has 16");
  EXPECT_EQ(refusal({shaped({-4})}), "input 'x' has the impossible shape [-4]");
  EXPECT_TRUE(contains(refusal({shaped({1LL << 40, 1LL << 40})}), "impossible shape"));
  EXPECT_TRUE(contains(refusal({shaped({0, 1LL << 40, 1LL << 40})}), "impossible shape"));
  EXPECT_TRUE(contains(refusal({shaped({4}), shaped({4})}), "input 'x' is given twice"));
  EXPECT_TRUE(contains(refusal({wire_tensor("", std::span(four))}), "input is empty"));
  WireLimits narrow;
  narrow.max_rank = 1;
  EXPECT_TRUE(contains(refusal({shaped({2, 2})}, narrow), "rank 2; the limit is 1"));
  narrow = {};
  narrow.max_tensors = 1;
  EXPECT_TRUE(contains(refusal({shaped({4}), wire_tensor("y", std::span(four))}, narrow),
                       "2 inputs; the limit is 1"));
  narrow = {};
  narrow.max_body_bytes = 64;
  EXPECT_TRUE(contains(refusal({shaped({4})}, narrow), "the limit is 64"));
}

// The decoder must refuse by itself what an honest encoder never sends.
TEST(RequestBodyCodec, DecoderChecksTensorsToo) {
  const auto refusal = [](auto fill) {
    capnp::MallocMessageBuilder message;
    auto root = message.initRoot<wire::RequestBody>();
    root.initStructure().initChain().setLength(1);
    auto tensor = root.initInputs(1)[0];
    tensor.setName("x");
    fill(tensor);
    const auto words = capnp::messageToFlatArray(message);
    const auto body = decode_request_body(
        std::as_bytes(std::span(words.asBytes().begin(), words.asBytes().size())), kLimits);
    return body ? std::string("accepted") : body.error().message;
  };
  using Builder = wire::Tensor::Builder;
  EXPECT_EQ(refusal([](Builder t) { t.initData(4); }), "accepted");
  EXPECT_TRUE(contains(refusal([](Builder t) { t.initData(3); }), "needs 4 bytes but has 3"));
  EXPECT_TRUE(contains(refusal([](Builder t) { t.setType(static_cast<wire::ElementType>(13)); }), "type 13"));
  EXPECT_TRUE(contains(refusal([](Builder t) { t.initShape(9); }), "rank 9; the limit is 8"));
  EXPECT_TRUE(contains(refusal([](Builder t) { t.initShape(1).set(0, -1); }), "impossible shape [-1]"));
  EXPECT_TRUE(contains(refusal([](Builder t) { t.setName(""); }), "is empty"));
  EXPECT_TRUE(contains(refusal([](Builder t) {
                         t.initShape(2).set(0, std::numeric_limits<std::int64_t>::max());
                         t.getShape().set(1, 8);
                       }),
                       "impossible"));
}

TEST(ReplyBodyCodec, KeepsTensorsAndFindsThemByName) {
  const std::vector<float> h{1, 2, 3, 4};
  const std::vector<std::int64_t> ids{7};
  const auto bytes = encode_reply_body(
      std::vector{wire_tensor("h", std::span(h), {2, 2}), wire_tensor("ids", std::span(ids))}, kLimits);
  ASSERT_TRUE(bytes);
  const auto body = decode_reply_body(bytes->bytes(), kLimits);
  ASSERT_TRUE(body) << to_string(body.error());
  ASSERT_NE(body->find("h"), nullptr);
  EXPECT_EQ(body->find("h")->shape, (WireShape{2, 2}));
  EXPECT_EQ((*body->find("h")->values<float>())[3], 4.0F);
  EXPECT_EQ(body->find("ids")->values<std::int64_t>()->front(), 7);
  EXPECT_EQ(body->find("none"), nullptr);
}

TEST(ReplyBodyCodec, KeepsNoTensors) {
  const auto bytes = encode_reply_body({}, kLimits);
  const auto body = decode_reply_body(bytes->bytes(), kLimits);
  ASSERT_TRUE(body);
  EXPECT_TRUE(body->outputs.empty());
}

}  // namespace
}  // namespace volvox
