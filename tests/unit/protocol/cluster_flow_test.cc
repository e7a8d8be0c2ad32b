#include "protocol/cluster_flow.h"

#include <deque>
#include <map>
#include <random>
#include <string>
#include <variant>

#include <gtest/gtest.h>

namespace volvox {
namespace {

ClusterFlowLimits small_limits() {
  ClusterFlowLimits limits;
  limits.max_message_bytes = 1024;
  limits.max_total_bytes = 20'000;
  limits.max_queued_bytes = 60'000;
  return limits;
}

ClusterSubmit submit(std::uint32_t number, std::size_t size) {
  const std::string body(size, static_cast<char>('a' + number % 26));
  return {{number, 0, 1}, 0, nullptr, WireBuffer::share_copy_of(std::as_bytes(std::span(body)))};
}
std::size_t size_of(const ClusterSubmit& submit) {
  return submit.body ? submit.body->size() : 0;
}

// What the inbox makes of what the outbox sends now.
std::vector<ClusterMessage> deliver(ClusterOutbox& outbox, ClusterInbox& inbox) {
  std::vector<ClusterMessage> messages;
  while (auto bytes = outbox.next()) {
    EXPECT_LE(bytes->size(), small_limits().max_message_bytes);
    auto message = inbox.take(bytes->bytes());
    EXPECT_TRUE(message) << to_string(message.error());
    if (message && *message) messages.push_back(std::move(**message));
  }
  return messages;
}

TEST(ClusterFlow, LargeMessagesTravelInFewFragmentsAtATime) {
  ClusterOutbox outbox(small_limits());
  ClusterInbox inbox(small_limits());
  ASSERT_TRUE(outbox.push(submit(1, 10'000)));
  int rounds = 0;
  for (std::vector<ClusterMessage> got; got.empty(); ++rounds) {
    ASSERT_LT(rounds, 20);
    got = deliver(outbox, inbox);
    const std::uint32_t acks = inbox.take_acks();
    EXPECT_GE(acks, 1U);
    EXPECT_LE(acks, 4U);
    EXPECT_EQ(inbox.take_acks(), 0U);
    EXPECT_FALSE(outbox.next()) << "nothing more before the acknowledgement";
    outbox.acked(acks);
    if (got.empty()) continue;
    EXPECT_EQ(size_of(std::get<ClusterSubmit>(got[0])), 10'000U);
  }
  EXPECT_EQ(rounds, 4);
  EXPECT_EQ(outbox.queued_bytes(), 0U);
}

TEST(ClusterFlow, ControlGoesFirstAndSmallOnesPassLargeOnes) {
  ClusterOutbox outbox(small_limits());
  ClusterInbox inbox(small_limits());
  ASSERT_TRUE(outbox.push(submit(1, 10'000)));
  ASSERT_TRUE(outbox.push(submit(2, 10)));
  ASSERT_TRUE(outbox.push(submit(3, 10)));
  ASSERT_TRUE(outbox.push(ClusterPing{5, 0, 0, 0, 0}));
  const auto got = deliver(outbox, inbox);
  ASSERT_EQ(got.size(), 3U);
  EXPECT_TRUE(std::holds_alternative<ClusterPing>(got[0]));
  EXPECT_EQ(std::get<ClusterSubmit>(got[1]).attempt.index, 2U);
  EXPECT_EQ(std::get<ClusterSubmit>(got[2]).attempt.index, 3U);
}

TEST(ClusterFlow, WhatIsTooMuchIsRefused) {
  ClusterOutbox outbox(small_limits());
  EXPECT_EQ(outbox.push(submit(1, 30'000)).error().code, ErrorCode::kInvalidArgument);
  int taken = 0;
  Status pushed;
  while ((pushed = outbox.push(submit(1, 900)))) ++taken;
  EXPECT_EQ(pushed.error().code, ErrorCode::kOverloaded);
  EXPECT_GT(taken, 50);
  EXPECT_LE(outbox.queued_bytes(), small_limits().max_queued_bytes);
}

TEST(ClusterFlow, APeerThatDoesNotKeepToTheProtocolIsFound) {
  const auto refused = [](std::initializer_list<ClusterFragment> fragments) {
    ClusterInbox inbox(small_limits());
    bool error = false;
    for (const ClusterFragment& fragment : fragments)
      error = !inbox.take(encode_cluster_message(fragment, {})->bytes());
    return error;
  };
  const auto piece = submit(1, 100).body;
  EXPECT_FALSE(refused({{1, 0, 1000, piece}, {1, 100, 1000, piece}}));
  EXPECT_TRUE(refused({{1, 0, 1000, piece}, {1, 0, 1000, piece}})) << "the same again";
  EXPECT_TRUE(refused({{1, 100, 1000, piece}})) << "the first one is missing";
  EXPECT_TRUE(refused({{1, 0, 50, piece}})) << "more than announced";
  EXPECT_TRUE(refused({{1, 0, 1U << 30, piece}})) << "too large";
  EXPECT_TRUE(refused({{1, 0, 1000, nullptr}})) << "empty";
  EXPECT_TRUE(refused({{1, 0, 100, piece}})) << "not a message";
  ClusterInbox inbox(small_limits());
  for (std::uint64_t stream = 0; stream < small_limits().max_streams; ++stream)
    EXPECT_TRUE(inbox.take(encode_cluster_message(ClusterFragment{stream, 0, 1000, piece}, {})->bytes()));
  EXPECT_FALSE(inbox.take(encode_cluster_message(ClusterFragment{999, 0, 1000, piece}, {})->bytes()));
  EXPECT_FALSE(inbox.take(encode_cluster_message(submit(1, 2000), {})->bytes()))
      << "more than one message may have";
}

TEST(ClusterFlow, AnyMixArrivesWholeAndOnce) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    std::mt19937_64 dice(seed);
    ClusterOutbox outbox(small_limits());
    ClusterInbox inbox(small_limits());
    std::deque<WireBuffer> link;
    std::map<std::uint32_t, std::size_t> sent, received;
    for (std::uint32_t step = 0; step < 3000 || !link.empty() || outbox.queued_bytes() > 0; ++step) {
      ASSERT_LT(step, 100'000U);
      const std::size_t size = dice() % 3 == 0 ? dice() % 15'000 : dice() % 500;
      if (step < 3000 && dice() % 4 == 0 && outbox.push(submit(step, size))) sent[step] = size;
      if (auto bytes = outbox.next()) link.push_back(std::move(*bytes));
      if (link.empty() || dice() % 2 == 0) continue;
      auto message = inbox.take(link.front().bytes());
      link.pop_front();
      ASSERT_TRUE(message) << to_string(message.error());
      outbox.acked(inbox.take_acks());
      if (!*message) continue;
      const auto& got = std::get<ClusterSubmit>(**message);
      ASSERT_TRUE(received.emplace(got.attempt.index, size_of(got)).second) << "twice";
    }
    ASSERT_EQ(received, sent) << "seed " << seed;
    ASSERT_GT(sent.size(), 100U);
  }
}

}  // namespace
}  // namespace volvox
