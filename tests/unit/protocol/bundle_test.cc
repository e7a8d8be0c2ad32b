#include "protocol/bundle.h"

#include <cstdint>
#include <numeric>
#include <vector>

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <gtest/gtest.h>

#include "protocol/client/bundle_flights.h"
#include "protocol/client/session_stream.h"
#include "protocol/codec/bundle_codec.h"
#include "protocol/codec/codec.h"
#include "protocol/volvox.capnp.h"
#include "tests/unit/protocol/samples.h"

namespace volvox {
namespace {

using test::contains;
using test::kLimits;

std::shared_ptr<const WireBuffer> shared(const WireBuffer& buffer) {
  return WireBuffer::share_copy_of(buffer.bytes());
}

WireSessionToken answered_token(std::uint64_t id, std::uint64_t sequence, const std::string& home = "a") {
  WireSessionToken token;
  token.id_hi = id;
  token.id_lo = id + 1;
  token.model_version = 3;
  token.model_digest = 4;
  token.numerics_id = 5;
  token.epoch = 1;
  token.sequence = sequence;
  token.operation = SessionOperation::kContinue;
  token.home = home;
  return token;
}

struct Sample {
  std::vector<WireSessionToken> tokens;
  std::vector<std::uint32_t> lengths{2, 0, 3, 1};
  std::vector<std::int32_t> rows = test::sample_tokens(6);
  BundleParts parts;

  Sample() {
    tokens = {answered_token(10, 7), answered_token(20, 8), answered_token(30, 9, "b"), {}};
    tokens[1].operation = SessionOperation::kEnd;
    for (std::size_t i = 0; i < tokens.size(); ++i) parts.add(tokens[i], lengths[i]);
  }
  RequestBundle bundle() const {
    RequestBundle made = parts.bundle();
    made.inputs = {wire_tensor("token", std::span(rows))};
    made.outputs = {"h"};
    return made;
  }
};

TEST(Bundle, PartsComeBackAsTheyWere) {
  const Sample sample;
  const auto encoded = encode_request_bundle(sample.bundle(), kLimits);
  ASSERT_TRUE(encoded) << to_string(encoded.error());
  const auto read = read_request_bundle(shared(*encoded), kLimits);
  ASSERT_TRUE(read) << to_string(read.error());
  ASSERT_EQ(read->parts(), 4U);
  EXPECT_EQ(read->tokens.kinds.size(), 4U) << "differ in operation or home, or stand alone";
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(read->lengths[i], sample.lengths[i]);
    const auto token = read->tokens.asked(i);
    ASSERT_TRUE(token && *token);
    EXPECT_EQ(**token, sample.tokens[i]);
  }
  EXPECT_FALSE(*read->tokens.asked(3)) << "it stands alone";
  ASSERT_EQ(read->inputs.size(), 1U);
  const auto rows = read->inputs[0].values<std::int32_t>();
  EXPECT_TRUE(std::equal(rows->begin(), rows->end(), sample.rows.begin(), sample.rows.end()));
  EXPECT_EQ(read->outputs, (std::vector<std::string_view>{"h"}));
}

TEST(Bundle, WhatPartsHaveInCommonIsWrittenOnce) {
  BundleParts parts;
  for (std::uint64_t i = 0; i < 1000; ++i) parts.add(answered_token(i, i), 1);
  EXPECT_EQ(parts.bundle().tokens.kinds.size(), 1U);
  EXPECT_EQ(parts.steps(), 1000U);
  parts.clear();
  EXPECT_EQ(parts.size(), 0U);
  EXPECT_EQ(parts.steps(), 0U);
  const SessionStream begin = SessionStream::begin();
  parts.add(begin.next(), 1);
  const auto token = parts.bundle().tokens.asked(0);
  ASSERT_TRUE(token && *token);
  EXPECT_EQ(**token, begin.next()) << "the nonce travels in the place of the id";
}

TEST(SessionStream, APartIsInDoubtUntilAnAnswerDecides) {
  SessionStream stream = SessionStream::begin();
  stream.failed(ErrorCode::kUnavailable, false);
  EXPECT_FALSE(stream.undecided()) << "it left no trace";
  stream.failed(ErrorCode::kUnavailable, true);
  stream.failed(ErrorCode::kOverloaded, false);
  EXPECT_TRUE(stream.undecided()) << "that try left no trace, but the one before it may have";
  for (const ErrorCode code :
       {ErrorCode::kInvalidArgument, ErrorCode::kSessionLost, ErrorCode::kSessionExpired}) {
    SessionStream decided = stream;
    decided.failed(code, false);
    EXPECT_FALSE(decided.undecided());
  }
  stream.take(WireSessionToken{});
  EXPECT_FALSE(stream.undecided());
}

TEST(Bundle, RefusesWhatDoesNotFitTheNumberOfParts) {
  const Sample sample;
  const auto refusal = [](const RequestBundle& bundle, const WireLimits& limits = kLimits) {
    const auto encoded = encode_request_bundle(bundle, limits);
    return encoded ? std::string() : encoded.error().message;
  };
  RequestBundle bundle = sample.bundle();
  bundle.inputs = {wire_tensor("token", std::span(sample.rows).first(5))};
  EXPECT_TRUE(contains(refusal(bundle), "6 steps"));
  EXPECT_TRUE(contains(refusal(RequestBundle{}), "0 parts"));
  WireLimits narrow;
  narrow.max_bundle_parts = 3;
  EXPECT_TRUE(contains(refusal(sample.bundle(), narrow), "1 to 3"));
}

// Bytes as only a stranger would write them.
std::string refusal_of(const std::function<void(wire::BundleBody::Builder)>& write,
                       const WireLimits& limits = kLimits) {
  capnp::MallocMessageBuilder message;
  write(message.initRoot<wire::BundleBody>());
  const auto words = capnp::messageToFlatArray(message);
  const auto bytes = std::as_bytes(std::span(words.begin(), words.size()));
  const auto read = read_request_bundle(WireBuffer::share_copy_of(bytes), limits);
  return read ? std::string() : read.error().message;
}

TEST(Bundle, ColumnsThatLieAreRefused) {
  const auto lengths = [](wire::BundleBody::Builder body, std::initializer_list<std::uint32_t> values) {
    auto list = body.initLengths(static_cast<unsigned>(values.size()));
    unsigned i = 0;
    for (const std::uint32_t value : values) list.set(i++, value);
  };
  EXPECT_TRUE(contains(refusal_of([](auto) {}), "0 parts"));
  EXPECT_EQ(refusal_of([&](auto body) { lengths(body, {1, 2}); }), "");
  EXPECT_TRUE(contains(refusal_of([&](auto body) {
                         lengths(body, {1, 2});
                         body.initTokens().initKinds(3);
                       }),
                       "more kinds of tokens"));
  const auto with_kinds = [&](auto body, unsigned ids, unsigned kinds_of) {
    lengths(body, {1, 2});
    auto tokens = body.initTokens();
    tokens.initKinds(1);
    tokens.initIdHi(2);
    tokens.initIdLo(ids);
    tokens.initSequences(2);
    tokens.initKindOf(kinds_of);
  };
  EXPECT_EQ(refusal_of([&](auto body) { with_kinds(body, 2, 2); }), "");
  EXPECT_EQ(refusal_of([&](auto body) { with_kinds(body, 2, 0); }), "");
  EXPECT_TRUE(contains(refusal_of([&](auto body) { with_kinds(body, 1, 2); }), "tokens.idLo has 1"));
  EXPECT_TRUE(contains(refusal_of([&](auto body) { with_kinds(body, 3, 2); }), "tokens.idLo has 3"));
  EXPECT_TRUE(contains(refusal_of([&](auto body) { with_kinds(body, 2, 1); }), "tokens.kindOf has 1"));
  EXPECT_TRUE(contains(refusal_of([&](auto body) {
                         lengths(body, {1});
                         body.initTokens().initIdHi(1);
                       }),
                       "tokens.idHi has 1"));
}

// The sum of the lengths must not come round to the number of rows that there is.
TEST(Bundle, LengthsDoNotOverflow) {
  const auto with_rows = [](std::int64_t rows, std::size_t bytes) {
    return [=](wire::BundleBody::Builder body) {
      auto lengths = body.initLengths(3);
      lengths.set(0, ~0U);
      lengths.set(1, 1);
      lengths.set(2, 1);
      auto input = body.initInputs(1)[0];
      input.setName("x");
      input.setType(wire::ElementType::U8);
      input.initShape(1).set(0, rows);
      input.initData(static_cast<unsigned>(bytes));
    };
  };
  EXPECT_TRUE(contains(refusal_of(with_rows(1, 1)), "4294967297 steps"));
  EXPECT_TRUE(contains(refusal_of(with_rows(4294967297, 1)), "needs 4294967297 bytes"));
  EXPECT_TRUE(contains(refusal_of(with_rows(-1, 0)), "impossible shape"));
  const auto scalar = [](wire::BundleBody::Builder body) {
    body.initLengths(1).set(0, 1);
    auto input = body.initInputs(1)[0];
    input.setName("x");
    input.setType(wire::ElementType::U8);
    input.initData(1);
  };
  EXPECT_TRUE(contains(refusal_of(scalar), "a row for each"));
}

TEST(Bundle, ATokenOfNoKindIsItsPartsOwnTrouble) {
  capnp::MallocMessageBuilder message;
  auto body = message.initRoot<wire::BundleBody>();
  body.initLengths(2);
  auto tokens = body.initTokens();
  tokens.initKinds(1)[0].setOperation(wire::SessionOperation::CONTINUE);
  tokens.initIdHi(2);
  tokens.initIdLo(2);
  tokens.initSequences(2);
  tokens.initKindOf(2).set(1, 9);
  const auto words = capnp::messageToFlatArray(message);
  const auto read = read_request_bundle(
      WireBuffer::share_copy_of(std::as_bytes(std::span(words.begin(), words.size()))), kLimits);
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->tokens.asked(0));
  const auto bad = read->tokens.asked(1);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, ErrorCode::kInvalidArgument);
}

TEST(Bundle, HeadersSayHowManyPartsThereAre) {
  RequestHeader header;
  header.kind = RequestKind::kBundle;
  header.request_id = 5;
  header.model = "lstm";
  header.parts = 3;
  const auto encoded = encode_request_header(header, kLimits);
  ASSERT_TRUE(encoded);
  EXPECT_EQ(*decode_request_header(encoded->bytes(), kLimits), header);
  const auto refused = [](RequestHeader bad) { return !encode_request_header(bad, kLimits).has_value(); };
  RequestHeader bad = header;
  bad.parts = 0;
  EXPECT_TRUE(refused(bad));
  bad = header;
  bad.request_id = ~std::uint64_t{0} - 1;
  EXPECT_TRUE(refused(bad)) << "ids of parts would come round to 0";
  bad = header;
  bad.session = WireSessionToken{};
  EXPECT_TRUE(refused(bad));
  bad = header;
  bad.stream = true;
  EXPECT_TRUE(refused(bad));
  bad = header;
  bad.kind = RequestKind::kCancel;
  bad.parts = kLimits.max_bundle_parts + 1;
  EXPECT_TRUE(refused(bad));
}

// Outputs of a part: a row of 2 floats, and as many rows of one as the part has steps.
struct PartSample {
  std::vector<float> last, each;
  std::vector<WireTensor> outputs;
  WireSessionToken token;

  PartSample(std::uint32_t number, std::size_t steps)
      : last{1.0F * number, 2.0F * number}, each(steps, 3.0F * number) {
    outputs = {wire_tensor("last", std::span<const float>(last)),
               wire_tensor("each", std::span<const float>(each), {static_cast<std::int64_t>(steps), 1})};
    token = answered_token(number, number);
  }
  PartReply reply(std::uint32_t part) const {
    PartReply reply;
    reply.part = part;
    reply.token = &token;
    reply.outputs = outputs;
    reply.cells = part;
    reply.timings = {1, 2, std::uint64_t{1} << 40};
    return reply;
  }
};

void expect_part(const ReplyBundle& bundle, std::size_t place, const PartSample& sample) {
  const auto token = bundle.tokens.answered(place);
  ASSERT_TRUE(token && *token);
  EXPECT_EQ(**token, sample.token);
  for (std::size_t output = 0; output < 2; ++output) {
    const auto tensor = bundle.output(output, place);
    ASSERT_TRUE(tensor);
    EXPECT_EQ(tensor->name, sample.outputs[output].name);
    EXPECT_EQ(tensor->shape, sample.outputs[output].shape);
    ASSERT_TRUE(std::equal(tensor->bytes.begin(), tensor->bytes.end(), sample.outputs[output].bytes.begin(),
                           sample.outputs[output].bytes.end()));
  }
}

TEST(Bundle, AnswersComeBackAsTheyWere) {
  const PartSample one(1, 2), two(2, 5), end(3, 0);
  const Error error{ErrorCode::kOverloaded, "wait"};
  PartReply failed;
  failed.part = 9;
  failed.error = &error;
  failed.retry_after_us = 70;
  failed.undecided = true;
  PartReply empty;
  empty.part = 4;
  empty.token = &end.token;
  const std::vector<PartReply> replies{empty, one.reply(7), failed, two.reply(3)};
  ASSERT_EQ(bundled_replies(replies, kLimits), 4U);
  const auto encoded = encode_reply_bundle(replies, kLimits);
  ASSERT_TRUE(encoded) << to_string(encoded.error());
  const auto read = read_reply_bundle(shared(*encoded), kLimits);
  ASSERT_TRUE(read) << to_string(read.error());
  ASSERT_EQ(std::vector(read->done.begin(), read->done.end()), (std::vector<std::uint32_t>{7, 3, 4}));
  ASSERT_EQ(read->with_outputs, 2U);
  expect_part(*read, 0, one);
  expect_part(*read, 1, two);
  EXPECT_FALSE(read->output(0, 2)) << "it only ended its session";
  EXPECT_EQ(read->cells[0], 7U);
  EXPECT_EQ(read->queue_us[0], 1U);
  EXPECT_EQ(read->compute_us[0], 2U);
  EXPECT_EQ(read->total_us[0], ~0U) << "as long as can be said";
  ASSERT_EQ(read->errors.size(), 1U);
  EXPECT_EQ(read->errors[0].part, 9U);
  EXPECT_EQ(read->errors[0].error.code, ErrorCode::kOverloaded);
  EXPECT_EQ(read->errors[0].error.message, "wait");
  EXPECT_EQ(read->errors[0].retry_after_us, 70U);
  EXPECT_TRUE(read->errors[0].undecided);
  ASSERT_NE(read->find("each"), nullptr);
  EXPECT_EQ(read->find("other"), nullptr);
}

TEST(Bundle, AnswersThatDifferTravelApart) {
  const PartSample one(1, 2), two(2, 2);
  PartSample other(3, 2);
  other.outputs[0].name = "first";
  const std::vector<PartReply> replies{one.reply(0), two.reply(1), other.reply(2)};
  EXPECT_EQ(bundled_replies(replies, kLimits), 2U);
  WireLimits narrow;
  narrow.max_body_bytes = 2600;
  const std::vector<PartReply> many(40, one.reply(0));
  const std::size_t count = bundled_replies(many, narrow);
  EXPECT_GT(count, 1U);
  EXPECT_LT(count, 40U);
  EXPECT_TRUE(encode_reply_bundle(std::span(many).first(count), narrow));
  EXPECT_EQ(bundled_replies({}, kLimits), 0U);
}

TEST(Bundle, RepliesThatLieAreRefused) {
  const auto refusal = [](const std::function<void(wire::BundleReplyBody::Builder)>& write) {
    capnp::MallocMessageBuilder message;
    write(message.initRoot<wire::BundleReplyBody>());
    const auto words = capnp::messageToFlatArray(message);
    const auto read = read_reply_bundle(
        WireBuffer::share_copy_of(std::as_bytes(std::span(words.begin(), words.size()))), kLimits);
    return read ? std::string() : read.error().message;
  };
  const auto columns = [](auto body, unsigned count) {
    body.initDone(count);
    body.initCells(count);
    body.initQueueUs(count);
    body.initComputeUs(count);
    body.initTotalUs(count);
  };
  EXPECT_EQ(refusal([&](auto body) { columns(body, 2); }), "");
  EXPECT_TRUE(contains(refusal([&](auto body) {
                         columns(body, 2);
                         body.initCells(1);
                       }),
                       "cells has 1"));
  EXPECT_TRUE(contains(refusal([&](auto body) {
                         columns(body, 2);
                         body.setWithOutputs(3);
                       }),
                       "more parts with outputs"));
  const auto with_output = [&](std::int64_t rows, unsigned bytes, unsigned counts) {
    return [=](auto body) {
      columns(body, 2);
      body.setWithOutputs(2);
      auto output = body.initOutputs(1)[0];
      auto tensor = output.initTensor();
      tensor.setName("x");
      tensor.setType(wire::ElementType::U8);
      tensor.initShape(1).set(0, rows);
      tensor.initData(bytes);
      auto list = output.initRows(counts);
      if (counts == 2) list.set(0, 3);
    };
  };
  EXPECT_EQ(refusal(with_output(2, 2, 0)), "");
  EXPECT_EQ(refusal(with_output(3, 3, 2)), "");
  EXPECT_TRUE(contains(refusal(with_output(3, 3, 0)), "its parts have 2 rows"));
  EXPECT_TRUE(contains(refusal(with_output(2, 2, 2)), "its parts have 3 rows"));
  EXPECT_TRUE(contains(refusal(with_output(2, 2, 1)), "rows has 1"));
  EXPECT_TRUE(contains(refusal([&](auto body) {
                         columns(body, 1);
                         auto tokens = body.initTokens();
                         tokens.initKinds(1);
                         tokens.initIdHi(1);
                         tokens.initIdLo(1);
                         tokens.initSequences(1);
                         tokens.initKindOf(1).set(0, 1);
                       }),
                       "no kind of token"));
}

ReplyBundle reply_to(std::span<const std::uint32_t> done, std::vector<std::uint32_t> failed = {}) {
  ReplyBundle reply;
  reply.done = done;
  for (const std::uint32_t part : failed) reply.errors.push_back({part, {}, false, 0});
  return reply;
}

TEST(BundleFlights, EachPartIsAnsweredOnce) {
  BundleFlights flights;
  flights.add(100, 4);
  EXPECT_TRUE(flights.contains(100));
  EXPECT_EQ(flights.parts_of(100), 4U);
  bool last = false;
  const std::vector<std::uint32_t> first{2}, again{1, 2}, beyond{4}, rest{1};
  EXPECT_TRUE(flights.take(100, reply_to(first, {0}), last));
  EXPECT_FALSE(last);
  EXPECT_FALSE(flights.take(100, reply_to(again), last)) << "part 2 has its answer";
  EXPECT_FALSE(flights.take(100, reply_to(beyond), last));
  EXPECT_FALSE(flights.take(100, reply_to(rest, {1}), last)) << "twice in one reply";
  EXPECT_FALSE(flights.take(99, reply_to(rest), last));
  EXPECT_EQ(flights.unanswered(100), (std::vector<std::uint32_t>{1, 3})) << "what was refused is not noted";
  EXPECT_TRUE(flights.take(100, reply_to(rest, {3}), last));
  EXPECT_TRUE(last);
  EXPECT_FALSE(flights.contains(100));
}

TEST(BundleFlights, WhatIsGivenUpIsForgotten) {
  BundleFlights flights;
  flights.add(1, 3);
  bool last = false;
  const std::vector<std::uint32_t> one{1};
  ASSERT_TRUE(flights.take(1, reply_to(one), last));
  EXPECT_EQ(flights.give_up(1), (std::vector<std::uint32_t>{0, 2}));
  EXPECT_FALSE(flights.contains(1));
  EXPECT_TRUE(flights.give_up(1).empty());
}

}  // namespace
}  // namespace volvox
