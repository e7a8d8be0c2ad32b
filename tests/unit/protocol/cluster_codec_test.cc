#include "protocol/cluster/cluster_codec.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <gtest/gtest.h>

#include "protocol/cluster.capnp.h"
#include "tests/unit/protocol/samples.h"

namespace volvox {
namespace {

using test::kLimits;

ClusterBytes bytes_of(std::string_view text) {
  return WireBuffer::share_copy_of(std::as_bytes(std::span(text)));
}
std::string text_of(const ClusterBytes& bytes) {
  return bytes ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : "";
}

std::vector<ClusterMessage> samples() {
  std::vector<ClusterMessage> all;
  all.emplace_back(ClusterJoin{"prod", "node-1", 77, 1, 1, {{"mt", 2, 99, 1500, 24}, {"asr", 1, 98, 10, 1}}});
  ClusterJoin& join = std::get<ClusterJoin>(all[0]);
  join.list = 3;
  join.request_limit = 100;
  join.request_window = 50;
  join.byte_limit = 1 << 20;
  join.byte_window = 1 << 19;
  join.message_bytes = 100'000;
  ClusterOffer& offer = join.offers[0];
  offer.max_cells = 4096;
  offer.inputs = {{"tokens", WireType::kI32, {-1}}};
  offer.outputs = {{"h", WireType::kF32, {-1, 512}}, {"c", WireType::kF16, {}}};
  ClusterJoinReply reply;
  reply.accepted = true;
  reply.name = "router-1";
  reply.version = 2;
  reply.message_bytes = 200'000;
  all.emplace_back(reply);
  reply.accepted = false;
  reply.error = Error{ErrorCode::kPermissionDenied, "another one"};
  all.emplace_back(reply);
  all.emplace_back(ClusterPing{-3, 1, 2, 3, 4});
  all.emplace_back(ClusterReport{7, 1, 2, 3, 4, 5, 6, 7, 8, {9, 10}});
  all.emplace_back(ClusterSubmit{{1, 2, 3}, 500, bytes_of("header"), bytes_of("body"), "alice", 8, 9});
  all.emplace_back(ClusterCancel{{1, 2, 3}});
  all.emplace_back(ClusterCancel{{1, 2, 3}, ErrorCode::kDeadlineExceeded});
  all.emplace_back(ClusterResult{{1, 2, 3}, false, bytes_of("header"), nullptr});
  all.emplace_back(ClusterDrain{"upgrade"});
  all.emplace_back(ClusterLeave{"done"});
  all.emplace_back(ClusterRejoin{"you were silent"});
  all.emplace_back(ClusterFragment{4, 8, 100, bytes_of("piece")});
  all.emplace_back(ClusterAck{3});
  all.emplace_back(ClusterOffers{4, std::get<ClusterJoin>(all[0]).offers});
  all.emplace_back(ClusterPing{-3, 1, 2, 3, 4, 5});
  all.emplace_back(ClusterReport{7, 1, 2, 3, 4, 5, 6, 7, 8, {9, 10}, 11, {12, 13}});
  return all;
}

std::string bytes(const ClusterMessage& message) {
  const ClusterBytes encoded = encode_cluster_message(message, kLimits).value().whole();
  return {reinterpret_cast<const char*>(encoded->data()), encoded->size()};
}
auto decode(std::string_view bytes) {
  return decode_cluster_message(bytes_of(bytes), kLimits);
}

ClusterBytes body_of(const ClusterMessage& message) {
  if (const auto* submit = std::get_if<ClusterSubmit>(&message)) return submit->body;
  if (const auto* result = std::get_if<ClusterResult>(&message)) return result->body;
  return std::get<ClusterFragment>(message).bytes;
}

// Whole words where words may lie are sent from there; what is small, or lies elsewhere, is not worth it.
TEST(ClusterCodec, LargeBytesAreNotCopied) {
  const ClusterBytes large = bytes_of(std::string(100'000, 'x')), header = bytes_of("header");
  const auto part = [&](std::size_t at, std::size_t size) {
    return WireBuffer::share_part_of(large, large->bytes().subspan(at, size));
  };
  for (const auto& [body, lent] :
       {std::pair(large, true), std::pair(part(8, 80'000), true), std::pair(part(0, 1000), false),
        std::pair(part(0, 9999), false), std::pair(part(4, 80'000), false)}) {
    for (const ClusterMessage& message : std::vector<ClusterMessage>{
             ClusterSubmit{{1, 2, 3}, 4, header, body, "somebody"},
             ClusterResult{{1, 2, 3}, true, header, body}, ClusterFragment{1, 0, 200'000, body}}) {
      const auto pieces = encode_cluster_message(message, kLimits, 7).value();
      EXPECT_EQ(pieces.tail, lent ? body : nullptr);
      EXPECT_LT(pieces.head->size(), 400 + (lent ? 0 : body->size()));
      const auto opened = open_cluster_message(pieces.whole(), kLimits);
      ASSERT_TRUE(opened);
      EXPECT_EQ(opened->generation, 7U);
      ASSERT_EQ(opened->message.index(), message.index());
      EXPECT_TRUE(std::ranges::equal(body_of(opened->message)->bytes(), body->bytes()));
      if (const auto* submit = std::get_if<ClusterSubmit>(&opened->message)) {
        EXPECT_EQ(submit->account, "somebody");
        EXPECT_EQ(submit->attempt, (ClusterAttempt{1, 2, 3}));
      }
    }
  }
}

TEST(ClusterCodec, WhatIsReadIsWhatWasWritten) {
  for (const ClusterMessage& message : samples()) {
    const auto read = decode(bytes(message));
    ASSERT_TRUE(read) << to_string(read.error());
    ASSERT_EQ(read->index(), message.index());
    EXPECT_EQ(bytes(*read), bytes(message));
  }
  const auto submit = std::get<ClusterSubmit>(*decode(bytes(samples()[5])));
  EXPECT_EQ(text_of(submit.header), "header");
  EXPECT_EQ(text_of(submit.body), "body");
  EXPECT_EQ(submit.account, "alice");
  EXPECT_EQ(submit.attempt, (ClusterAttempt{1, 2, 3}));
  EXPECT_EQ(std::get<ClusterJoin>(*decode(bytes(samples()[0]))), std::get<ClusterJoin>(samples()[0]));
  EXPECT_EQ(std::get<ClusterReport>(*decode(bytes(samples()[4]))), std::get<ClusterReport>(samples()[4]));
}

TEST(ClusterCodec, BadNamesAndNumbersAreRefusedOnBothSides) {
  ClusterJoin join = std::get<ClusterJoin>(samples()[0]);
  join.incarnation = 0;
  EXPECT_FALSE(encode_cluster_message(join, kLimits));
  join = std::get<ClusterJoin>(samples()[0]);
  join.name = "";
  EXPECT_FALSE(encode_cluster_message(join, kLimits));
  join.name = "a\nb";
  EXPECT_FALSE(encode_cluster_message(join, kLimits));
  join.name = std::string(1000, 'a');
  EXPECT_FALSE(encode_cluster_message(join, kLimits));
  join.name = "a";
  const ClusterOffer offer = join.offers[0];
  join.offers.resize(kMaxClusterOffers + 1, offer);
  EXPECT_FALSE(encode_cluster_message(join, kLimits));
  join.offers = {offer};
  ASSERT_TRUE(encode_cluster_message(join, kLimits));
  join.offers[0].inputs.resize(kLimits.max_tensors + 1, offer.inputs[0]);
  EXPECT_FALSE(encode_cluster_message(join, kLimits));
  join.offers = {offer};
  join.offers[0].outputs[0].name = "";
  EXPECT_FALSE(encode_cluster_message(join, kLimits));
  join.offers = {offer};
  join.offers[0].inputs[0].shape.resize(kLimits.max_rank + 1);
  EXPECT_FALSE(encode_cluster_message(join, kLimits));
  EXPECT_FALSE(encode_cluster_message(ClusterUnknown{}, kLimits));
  EXPECT_TRUE(encode_cluster_message(ClusterSubmit{}, kLimits)) << "a client may need no key";
  EXPECT_FALSE(encode_cluster_message(ClusterSubmit{{}, 0, nullptr, nullptr, "a\nb"}, kLimits));
}

TEST(ClusterCodec, AKindThatIsNewIsSkippedNotRefused) {
  std::string newer = bytes(ClusterAck{3});
  bool found = false;
  // The kind is the only 16-bit number of the root's data that says 11.
  for (std::size_t i = 8; i + 1 < newer.size() && !found; ++i) {
    if (newer[i] != 11 || newer[i + 1] != 0) continue;
    newer[i] = 99;
    found = true;
  }
  ASSERT_TRUE(found);
  const auto read = decode(newer);
  ASSERT_TRUE(read);
  ASSERT_TRUE(std::holds_alternative<ClusterUnknown>(*read));
  EXPECT_EQ(std::get<ClusterUnknown>(*read).kind, 99);
}

TEST(ClusterCodec, NeighbouringVersionsWorkTogether) {
  const auto [best, oldest] = cluster_versions();
  EXPECT_TRUE(check_versions("n", best, oldest));
  EXPECT_TRUE(check_versions("n", best + 1, best)) << "a newer one that still speaks ours";
  const Status newer = check_versions("n", best + 2, best + 1);
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().code, ErrorCode::kUnsupportedVersion);
  EXPECT_FALSE(check_versions("n", oldest - 1, 0));
}

TEST(ClusterCodec, AnyBytesAreAnsweredNotFollowed) {
  std::mt19937_64 dice(3);
  std::vector<std::string> good;
  for (const ClusterMessage& message : samples()) good.push_back(bytes(message));
  std::size_t accepted = 0, refused = 0;
  for (int i = 0; i < 40'000; ++i) {
    std::string broken = good[dice() % good.size()];
    if (dice() % 4 == 0) broken.resize(dice() % (broken.size() + 1));
    for (std::uint64_t changes = dice() % 4; changes > 0 && !broken.empty(); --changes)
      broken[dice() % broken.size()] = static_cast<char>(dice());
    const std::string shifted = " " + broken;  // at an odd address
    const auto read = decode(std::string_view(shifted).substr(1));
    (read ? accepted : refused) += 1;
    if (read && !std::holds_alternative<ClusterUnknown>(*read)) {
      // What was accepted can be passed on.
      EXPECT_TRUE(encode_cluster_message(*read, kLimits));
    } else if (!read) {
      EXPECT_EQ(read.error().code, ErrorCode::kInvalidArgument) << to_string(read.error());
    }
  }
  EXPECT_GT(accepted, 1000U);
  EXPECT_GT(refused, 1000U);
}

}  // namespace
}  // namespace volvox
