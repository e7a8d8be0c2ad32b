#include <cstring>
#include <new>
#include <stdexcept>
#include <vector>

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <gtest/gtest.h>

#include "protocol/codec/capnp_message.h"
#include "protocol/codec/codec.h"
#include "protocol/volvox.capnp.h"
#include "tests/unit/protocol/samples.h"

namespace volvox {
namespace {

using test::contains;
using test::kLimits;

WireBuffer encoded(const RequestHeader& header) {
  return std::move(encode_request_header(header, kLimits)).value();
}
WireBuffer encoded(const ReplyHeader& header) {
  return std::move(encode_reply_header(header, kLimits)).value();
}

// A header made by the plain Cap'n Proto library, with whatever `fill` sets.
template <class Root, class Fill>
WireBuffer foreign(Fill fill) {
  capnp::MallocMessageBuilder message;
  fill(message.initRoot<Root>());
  const auto words = capnp::messageToFlatArray(message);
  return WireBuffer::copy_of(std::as_bytes(std::span(words.asBytes().begin(), words.asBytes().size())));
}

TEST(RequestHeaderCodec, KeepsEveryField) {
  const RequestHeader header = test::full_request_header();
  const auto decoded = decode_request_header(encoded(header).bytes(), kLimits);
  ASSERT_TRUE(decoded) << to_string(decoded.error());
  EXPECT_EQ(*decoded, header);
}

TEST(RequestHeaderCodec, KeepsEachKindAndPriority) {
  for (const auto kind : {RequestKind::kInfer, RequestKind::kCancel, RequestKind::kPing}) {
    for (const auto priority : {WirePriority::kNormal, WirePriority::kHigh, WirePriority::kLow}) {
      RequestHeader header;
      header.kind = kind;
      header.priority = priority;
      header.request_id = 1;
      header.model = "m";
      EXPECT_EQ(decode_request_header(encoded(header).bytes(), kLimits).value(), header);
    }
  }
}

TEST(RequestHeaderCodec, TellsNoSessionFromAnEmptyOne) {
  RequestHeader header = test::full_request_header();
  header.session.reset();
  EXPECT_FALSE(decode_request_header(encoded(header).bytes(), kLimits)->session);
  header.session.emplace();
  EXPECT_EQ(decode_request_header(encoded(header).bytes(), kLimits)->session, WireSessionToken{});
}

TEST(RequestHeaderCodec, ReadsAtAnyAddress) {
  const RequestHeader header = test::full_request_header();
  const WireBuffer bytes = encoded(header);
  std::vector<std::byte> room(bytes.size() + 8);
  for (std::size_t shift = 0; shift < 8; ++shift) {
    std::memcpy(room.data() + shift, bytes.data(), bytes.size());
    EXPECT_EQ(decode_request_header({room.data() + shift, bytes.size()}, kLimits).value(), header) << shift;
  }
}

TEST(RequestHeaderCodec, ReadsAHeaderLongerThanItsStackBuffer) {
  WireLimits limits;
  limits.max_name_bytes = 2000;
  limits.max_header_bytes = 16384;
  RequestHeader header = test::full_request_header();
  header.model = std::string(2000, 'm');
  const auto bytes = encode_request_header(header, limits);
  EXPECT_EQ(decode_request_header(bytes->bytes(), limits).value(), header);
}

TEST(RequestHeaderCodec, ReadsWhatAnotherImplementationWrites) {
  // printf '(protocolVersion=1,kind=ping,requestId=5,model="lstm",deadlineUs=1000)' |
  //   capnp encode protocol/volvox.capnp RequestHeader | xxd -i
  const unsigned char kGolden[] = {
#include "tests/unit/protocol/golden_request_header.inc"
  };
  const auto header = decode_request_header(std::as_bytes(std::span(kGolden)), kLimits);
  ASSERT_TRUE(header) << to_string(header.error());
  RequestHeader expected;
  expected.kind = RequestKind::kPing;
  expected.request_id = 5;
  expected.model = "lstm";
  expected.deadline_us = 1000;
  EXPECT_EQ(*header, expected);
}

TEST(RequestHeaderCodec, RefusesUnknownVersionsByNameAndStillTellsTheId) {
  for (const std::uint16_t version : {std::uint16_t{0}, std::uint16_t{2}, std::uint16_t{65535}}) {
    const auto bytes = foreign<wire::RequestHeader>([&](wire::RequestHeader::Builder builder) {
      builder.setProtocolVersion(version);
      builder.setRequestId(77);
    });
    std::uint64_t id = 1;
    const auto header = decode_request_header(bytes.bytes(), kLimits, &id);
    ASSERT_FALSE(header);
    EXPECT_EQ(header.error().code, ErrorCode::kUnsupportedVersion);
    EXPECT_TRUE(contains(header.error().message, std::string("version ") + std::to_string(version)))
        << header.error().message;
    EXPECT_TRUE(contains(header.error().message, "speaks 1 to 1")) << header.error().message;
    EXPECT_EQ(id, 77U);
  }
}

TEST(RequestHeaderCodec, RefusesWhatItDoesNotKnow) {
  const auto refusal = [](auto fill) {
    const auto bytes = foreign<wire::RequestHeader>([&](wire::RequestHeader::Builder builder) {
      builder.setProtocolVersion(kProtocolVersion);
      builder.setRequestId(1);
      builder.setModel("m");
      fill(builder);
    });
    const auto header = decode_request_header(bytes.bytes(), kLimits);
    return header ? std::string("accepted") : to_string(header.error());
  };
  using Builder = wire::RequestHeader::Builder;
  EXPECT_EQ(refusal([](Builder) {}), "accepted");
  EXPECT_TRUE(
      contains(refusal([](Builder b) { b.setKind(static_cast<wire::RequestKind>(4)); }), "request kind 4"));
  EXPECT_TRUE(
      contains(refusal([](Builder b) { b.setPriority(static_cast<wire::Priority>(9)); }), "priority 9"));
  EXPECT_TRUE(contains(refusal([](Builder b) { b.setRequestId(0); }), "id 0 is reserved"));
  EXPECT_TRUE(contains(refusal([](Builder b) { b.setModel(""); }), "model name is empty"));
  EXPECT_TRUE(contains(refusal([](Builder b) { b.setModel("a\xff"); }), "not UTF-8"));
  EXPECT_TRUE(contains(refusal([](Builder b) { b.setModel("a\nb"); }), "control characters"));
  EXPECT_TRUE(
      contains(refusal([](Builder b) { b.setModel(std::string(129, 'x')); }), "129 bytes; the limit is 128"));
  EXPECT_TRUE(contains(
      refusal([](Builder b) { b.initSessionToken().setOperation(static_cast<wire::SessionOperation>(4)); }),
      "session operation 4"));
  EXPECT_TRUE(
      contains(refusal([](Builder b) { b.initSessionToken().setHome(std::string(129, 'x')); }), "home"));
}

TEST(RequestHeaderCodec, RefusesWhatIsTooLong) {
  const std::vector<std::byte> bytes(kLimits.max_header_bytes + 8);
  const auto header = decode_request_header(bytes, kLimits);
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().message, "request header has 4104 bytes; the limit is 4096");
}

TEST(RequestHeaderCodec, EncoderRefusesWhatTheDecoderWould) {
  RequestHeader header = test::full_request_header();
  header.request_id = 0;
  EXPECT_FALSE(encode_request_header(header, kLimits));
  header = test::full_request_header();
  header.model = std::string(129, 'm');
  EXPECT_FALSE(encode_request_header(header, kLimits));
  header = test::full_request_header();
  header.session->replica = "\x01";
  EXPECT_FALSE(encode_request_header(header, kLimits));
}

TEST(ReplyHeaderCodec, KeepsEveryField) {
  const ReplyHeader header = test::full_reply_header();
  const auto decoded = decode_reply_header(encoded(header).bytes(), kLimits);
  ASSERT_TRUE(decoded) << to_string(decoded.error());
  EXPECT_EQ(*decoded, header);
}

TEST(ReplyHeaderCodec, KeepsEachKindAndErrorCode) {
  ReplyHeader header = test::full_reply_header();
  for (std::uint16_t code = 1; code <= 12; ++code) {
    header.error.code = static_cast<ErrorCode>(code);
    EXPECT_EQ(decode_reply_header(encoded(header).bytes(), kLimits).value(), header);
  }
  for (const auto kind : {ReplyKind::kResult, ReplyKind::kPartial, ReplyKind::kPong}) {
    header = ReplyHeader{};
    header.kind = kind;
    header.final = kind != ReplyKind::kPartial;
    EXPECT_EQ(decode_reply_header(encoded(header).bytes(), kLimits).value(), header);
  }
}

TEST(ReplyHeaderCodec, TakesANewerServersErrorAsInternal) {
  const auto bytes = foreign<wire::ReplyHeader>([](wire::ReplyHeader::Builder builder) {
    builder.setProtocolVersion(kProtocolVersion);
    builder.setKind(wire::ReplyKind::ERROR);
    builder.setErrorCode(500);
    builder.setMessage("something new");
  });
  const auto header = decode_reply_header(bytes.bytes(), kLimits);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->error, (Error{ErrorCode::kInternal, "something new"}));
}

TEST(ReplyHeaderCodec, CleansAndCutsAnErrorsText) {
  const ReplyHeader header = error_reply(3, {ErrorCode::kInternal, "bad\nbyte " + std::string(2000, 'x')});
  const auto decoded = decode_reply_header(encoded(header).bytes(), kLimits);
  ASSERT_TRUE(decoded) << to_string(decoded.error());
  EXPECT_EQ(decoded->error.message.size(), kMaxErrorTextBytes);
  EXPECT_EQ(decoded->error.message.substr(0, 9), "bad?byte ");
}

TEST(ReplyHeaderCodec, RefusesUnknownVersionsAndKinds) {
  ReplyHeader header;
  header.version = 2;
  const auto decoded = decode_reply_header(encoded(header).bytes(), kLimits);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, ErrorCode::kUnsupportedVersion);
  EXPECT_TRUE(contains(decoded.error().message, "the server speaks protocol version 2"));
  const auto bytes = foreign<wire::ReplyHeader>([](wire::ReplyHeader::Builder builder) {
    builder.setProtocolVersion(kProtocolVersion);
    builder.setKind(static_cast<wire::ReplyKind>(5));
  });
  EXPECT_FALSE(decode_reply_header(bytes.bytes(), kLimits));
}

TEST(WireLimitsCheck, AcceptsTheDefaultsAndNamesWhatIsWrong) {
  EXPECT_TRUE(check_limits(WireLimits{}));
  const auto refusal = [](auto change) {
    WireLimits limits;
    change(limits);
    const auto ok = check_limits(limits);
    return ok ? std::string("accepted") : ok.error().message;
  };
  EXPECT_TRUE(contains(refusal([](WireLimits& l) { l.max_header_bytes = 100; }), "max_header_bytes is 100"));
  EXPECT_TRUE(contains(refusal([](WireLimits& l) { l.max_body_bytes = 1ULL << 40; }), "max_body_bytes"));
  EXPECT_TRUE(contains(refusal([](WireLimits& l) { l.max_rank = 9; }), "max_rank"));
  EXPECT_TRUE(contains(refusal([](WireLimits& l) { l.max_tensors = 0; }), "max_tensors"));
  EXPECT_TRUE(contains(refusal([](WireLimits& l) { l.max_name_bytes = 0; }), "max_name_bytes"));
  EXPECT_TRUE(contains(refusal([](WireLimits& l) { l.max_nodes = 0; }), "max_nodes"));
  EXPECT_TRUE(contains(refusal([](WireLimits& l) { l.max_edges = ~0U; }), "max_edges"));
  EXPECT_TRUE(contains(refusal([](WireLimits& l) { l.traversal_words = 5; }), "traversal_words"));
  EXPECT_TRUE(contains(refusal([](WireLimits& l) { l.nesting = 0; }), "nesting"));
}

// Whoever answers tries again; as an error it would be told that the answer cannot be written.
TEST(ReplyHeaderCodec, AnAnswerThatFindsNoMemoryIsNoError) {
  const auto throwing = [](auto what) { return [what]() -> Result<WireBuffer> { throw what; }; };
  EXPECT_THROW((void)caught_unless_memory("reply header", throwing(std::bad_alloc())), std::bad_alloc);
  EXPECT_EQ(caught("request header", throwing(std::bad_alloc())).error().code, ErrorCode::kInternal);
  const auto other =
      caught_unless_memory("reply header", throwing(std::runtime_error("as the test wants it")));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kInternal);
  EXPECT_TRUE(caught_unless_memory("reply header", [] { return Result<WireBuffer>(WireBuffer()); }));
}

}  // namespace
}  // namespace volvox
