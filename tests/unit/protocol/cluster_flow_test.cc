#include "protocol/cluster/cluster_flow.h"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/protocol/small_flow.h"

namespace volvox {
namespace {

using test::body_of;
using test::result;
using test::small_limits;

ClusterSubmit submit(std::uint32_t number, std::size_t size) {
  return {{number, 0, 1}, 0, nullptr, body_of(number, size)};
}
std::size_t size_of(const ClusterSubmit& submit) {
  return submit.body ? submit.body->size() : 0;
}

Result<std::optional<ClusterMessage>> take(ClusterInbox& inbox, const ClusterPieces& bytes) {
  auto message = decode_cluster_message(bytes.whole(), {});
  if (!message) return tl::unexpected(message.error());
  return inbox.take(std::move(*message));
}

// What the inbox makes of what the outbox sends now.
std::vector<ClusterMessage> deliver(ClusterOutbox& outbox, ClusterInbox& inbox) {
  std::vector<ClusterMessage> messages;
  while (auto bytes = outbox.next()) {
    EXPECT_LE(bytes->size(), small_limits().max_message_bytes);
    auto message = take(inbox, *bytes);
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
    EXPECT_LE(acks, 5U) << "four, and what comes before the body";
    EXPECT_EQ(inbox.take_acks(), 0U);
    EXPECT_FALSE(outbox.next()) << "nothing more before the acknowledgement";
    outbox.acked(acks);
    if (got.empty()) continue;
    EXPECT_EQ(size_of(std::get<ClusterSubmit>(got[0])), 10'000U);
  }
  EXPECT_EQ(rounds, 4);
  EXPECT_EQ(outbox.queued_bytes(), 0U);
}

// Earlier versions close a link on which more comes in one piece.
TEST(ClusterFlow, NoMoreIsSentAtOnceThanThePeerTakes) {
  const auto largest = [](std::optional<std::size_t> taken) {
    ClusterFlowLimits limits;
    limits.max_unacked_bytes = 4U << 20;
    ClusterOutbox outbox(limits);
    if (taken) outbox.peer_takes(*taken);
    for (std::uint32_t i = 0; i < 4; ++i) EXPECT_TRUE(outbox.push(result(i, 8U << 20)));
    std::size_t most = 0;
    for (int round = 0; !outbox.is_idle() && round < 10'000; ++round) {
      std::uint32_t sent = 0;
      while (auto bytes = outbox.next()) {
        most = std::max(most, bytes->size());
        ++sent;
      }
      outbox.acked(sent);
      if (round % 16 == 15) outbox.tick();  // a fast link: the window grows
    }
    EXPECT_TRUE(outbox.is_idle());
    return most;
  };
  constexpr std::size_t kKiB = 1024;
  const auto nearly = [](std::size_t most) {
    return testing::AllOf(testing::Le(most), testing::Gt(most - kKiB));
  };
  EXPECT_THAT(largest({}), nearly(64 * kKiB)) << "it has not said anything";
  EXPECT_THAT(largest(0), nearly(64 * kKiB)) << "it says nothing of it";
  EXPECT_THAT(largest(100 * kKiB), nearly(100 * kKiB));
  EXPECT_THAT(largest(1U << 30), nearly(256 * kKiB)) << "nor than this end's own limit";
}

// Only what comes before a body is written anew for its fragments.
TEST(ClusterFlow, ABodyIsSentFromWhereItLies) {
  ClusterFlowLimits limits = small_limits();
  limits.max_message_bytes = limits.max_small_bytes = 8192;
  limits.max_unacked_bytes = limits.max_total_bytes;
  ClusterOutbox outbox(limits);
  ClusterInbox inbox(limits);
  const ClusterSubmit large = submit(1, 16'000);
  ASSERT_TRUE(outbox.push(large));
  std::size_t copied = 0;
  std::optional<ClusterMessage> got;
  while (auto bytes = outbox.next()) {
    copied += bytes->head->size();
    EXPECT_LE(bytes->size(), limits.max_message_bytes);
    if (bytes->tail) {
      EXPECT_EQ(bytes->tail->whole(), large.body);
    }
    got = take(inbox, *bytes).value();
  }
  EXPECT_LT(copied, 2'500U);
  ASSERT_TRUE(got);
  EXPECT_TRUE(std::ranges::equal(std::get<ClusterSubmit>(*got).body->bytes(), large.body->bytes()));
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
  EXPECT_FALSE(outbox.is_full());
  EXPECT_EQ(outbox.push(submit(1, 30'000)).error().code, ErrorCode::kInvalidArgument);
  int taken = 0;
  Status pushed;
  while ((pushed = outbox.push(submit(1, 900)))) ++taken;
  EXPECT_EQ(pushed.error().code, ErrorCode::kOverloaded);
  EXPECT_GT(taken, 50);
  EXPECT_LE(outbox.queued_bytes(), small_limits().max_queued_bytes);
}

// A batch of large answers ends at once: the queue may hold more of them than the peer puts together.
TEST(ClusterFlow, MoreLargeMessagesThanThePeerPutsTogetherWaitForTheirTurn) {
  ClusterFlowLimits limits = small_limits();
  limits.max_queued_bytes = limits.max_total_bytes;
  ClusterOutbox outbox(limits);
  ClusterInbox inbox(limits);
  const std::uint32_t count = 3 * limits.max_streams;
  for (std::uint32_t i = 0; i < count; ++i)
    ASSERT_TRUE(outbox.push(result(i, 5000))) << "answers are taken in, whatever waits";
  EXPECT_TRUE(outbox.is_full());
  EXPECT_EQ(outbox.push(submit(0, 10)).error().code, ErrorCode::kOverloaded) << "nothing new is";
  ASSERT_TRUE(outbox.push(ClusterAck{1})) << "the peer would wait for ever";
  std::vector<std::uint32_t> ended;
  for (int round = 0; ended.size() < count && round < 1000; ++round) {
    for (const ClusterMessage& message : deliver(outbox, inbox))
      if (const auto* one = std::get_if<ClusterResult>(&message)) ended.push_back(one->attempt.index);
    outbox.acked(inbox.take_acks());
  }
  std::sort(ended.begin(), ended.end());
  ASSERT_EQ(ended.size(), count);
  EXPECT_EQ(std::adjacent_find(ended.begin(), ended.end()), ended.end());
  EXPECT_EQ(outbox.queued_bytes(), 0U);
  EXPECT_FALSE(outbox.is_full());
}

// A partial answer of any size comes before what follows it, and other requests pass both.
TEST(ClusterFlow, WhatConcernsOneRequestKeepsItsOrder) {
  ClusterOutbox outbox(small_limits());
  ClusterInbox inbox(small_limits());
  const std::vector<std::size_t> falling{9000, 6500, 4000, 10}, mixed{20, 2520, 5020, 9010};
  for (std::size_t i = 0; i < falling.size(); ++i) {
    ASSERT_TRUE(outbox.push(result(1, falling[i])));
    ASSERT_TRUE(outbox.push(result(2, mixed[i])));
  }
  ASSERT_TRUE(outbox.push(result(3, 30)));
  std::map<std::uint32_t, std::vector<std::size_t>> sizes;
  std::vector<std::uint32_t> first;
  for (int round = 0; !outbox.is_idle() && round < 100; ++round) {
    for (const ClusterMessage& message : deliver(outbox, inbox)) {
      const auto& one = std::get<ClusterResult>(message);
      sizes[one.attempt.index].push_back(one.body->size());
      first.push_back(one.attempt.index);
    }
    outbox.acked(inbox.take_acks());
  }
  EXPECT_EQ(sizes[1], falling);
  EXPECT_EQ(sizes[2], mixed);
  ASSERT_GE(first.size(), 2U);
  EXPECT_EQ(first[0], 2U) << "what was small and first";
  EXPECT_EQ(first[1], 3U) << "it waits for no large one";
  EXPECT_EQ(outbox.queued_bytes(), 0U);
}

TEST(ClusterFlow, ACancelComesAfterItsRequest) {
  ClusterOutbox outbox(small_limits());
  ClusterInbox inbox(small_limits());
  ASSERT_TRUE(outbox.push(submit(1, 9000)));
  for (const std::uint32_t number : {2U, 3U}) ASSERT_TRUE(outbox.push(submit(number, 10)));
  for (const std::uint32_t number : {1U, 3U})
    ASSERT_TRUE(outbox.push(ClusterCancel{{number, 0, 1}, ErrorCode::kDeadlineExceeded}));
  std::map<std::uint32_t, std::vector<std::string>> heard;
  for (int round = 0; !outbox.is_idle() && round < 100; ++round) {
    for (const ClusterMessage& message : deliver(outbox, inbox)) {
      if (const auto* request = std::get_if<ClusterSubmit>(&message)) {
        heard[request->attempt.index].emplace_back("submit");
      } else {
        heard[std::get<ClusterCancel>(message).attempt.index].emplace_back("cancel");
      }
    }
    outbox.acked(inbox.take_acks());
  }
  const std::vector<std::string> only{"submit"}, both{"submit", "cancel"};
  EXPECT_EQ(heard[1], both);
  EXPECT_EQ(heard[2], only);
  EXPECT_EQ(heard[3], both);
}

TEST(ClusterFlow, WhatIsNotSmallIsBoundedByAcknowledgements) {
  ClusterFlowLimits limits = small_limits();
  limits.max_small_bytes = 200;
  ClusterOutbox outbox(limits);
  ClusterInbox inbox(limits);
  for (std::uint32_t i = 0; i < 50; ++i) ASSERT_TRUE(outbox.push(result(i, 500)));
  std::size_t sent = 0, got = 0;
  for (int round = 0; !outbox.is_idle() && round < 100; ++round) {
    sent = 0;
    while (auto bytes = outbox.next()) {
      sent += bytes->size();
      auto message = take(inbox, *bytes);
      ASSERT_TRUE(message);
      got += *message ? 1 : 0;
    }
    EXPECT_LE(sent, limits.max_unacked_bytes + limits.max_message_bytes + 10 * 300) << "and what wraps them";
    outbox.acked(inbox.take_acks());
  }
  EXPECT_EQ(got, 50U);
}

// So much is under way as the link carried in the time of a report, and no more than the limit.
TEST(ClusterFlow, ASlowLinkHasLittleUnderWay) {
  ClusterFlowLimits limits;
  ClusterOutbox outbox(limits);
  ClusterInbox inbox(limits);
  for (std::uint32_t i = 0; i < 10; ++i) ASSERT_TRUE(outbox.push(result(i, 8U << 20)));
  const auto under_way =
      [&] {  // what is sent before an acknowledgement, in a tick of the fastest link there is
        std::size_t most = 0;
        for (int burst = 0; burst < 8; ++burst) {
          std::size_t sent = 0;
          while (auto bytes = outbox.next()) {
            sent += bytes->size();
            EXPECT_TRUE(take(inbox, *bytes));
          }
          most = std::max(most, sent);
          outbox.acked(inbox.take_acks());
        }
        outbox.tick();
        return most;
      };
  EXPECT_LE(under_way(), 80U << 10);
  std::size_t fast = 0;
  for (int tick = 0; tick < 5; ++tick) fast = under_way();
  EXPECT_GE(fast, limits.max_unacked_bytes);
  EXPECT_LE(fast, limits.max_unacked_bytes + limits.max_message_bytes + (64U << 10)) << "and what wraps them";
  // Now it carries one fragment a tick.
  std::deque<std::size_t> sizes;
  for (int tick = 0; tick < 200; ++tick) {
    while (auto bytes = outbox.next()) {
      sizes.push_back(bytes->size());
      EXPECT_TRUE(take(inbox, *bytes));
    }
    outbox.acked(1);
    if (!sizes.empty()) sizes.pop_front();
    outbox.tick();
  }
  EXPECT_LE(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}), 84U << 10);
}

TEST(ClusterFlow, TheLastWordsComeAfterAllElse) {
  ClusterOutbox outbox(small_limits());
  ClusterInbox inbox(small_limits());
  ASSERT_TRUE(outbox.push(result(1, 15'000)));
  ASSERT_TRUE(outbox.push_last(ClusterLeave{"the end"}));
  ASSERT_TRUE(outbox.push(result(2, 100)));
  std::vector<ClusterMessage> got;
  for (int round = 0; !outbox.is_idle() && round < 100; ++round) {
    for (ClusterMessage& message : deliver(outbox, inbox)) got.push_back(std::move(message));
    EXPECT_FALSE(outbox.is_idle() && got.size() < 3);
    outbox.acked(inbox.take_acks());
  }
  ASSERT_EQ(got.size(), 3U);
  EXPECT_TRUE(std::holds_alternative<ClusterLeave>(got[2]));
}

Result<ClusterPieces> no_memory(const ClusterMessage& message, const WireLimits& limits,
                                LinkGeneration generation) {
  static int left = 0;
  if (std::holds_alternative<ClusterFragment>(message) && left++ % 2 == 0)
    return fail(ErrorCode::kInternal, "no memory");
  return encode_cluster_message(message, limits, generation);
}

TEST(ClusterFlow, AFragmentForWhichThereIsNoMemoryIsSentLater) {
  ClusterOutbox outbox(small_limits(), 0, &no_memory);
  ClusterInbox inbox(small_limits());
  ASSERT_TRUE(outbox.push(result(1, 2'500)));
  std::vector<ClusterMessage> got;
  for (int round = 0; got.empty() && round < 20; ++round) got = deliver(outbox, inbox);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(std::get<ClusterResult>(got[0]).body->size(), 2'500U);
}

// Else each stranger costs the memory of as many messages as a link may have under way.
TEST(ClusterFlow, WhoHasNotJoinedSaysOneThingOfAJoinsSize) {
  ClusterFlowLimits limits = small_limits();
  limits.max_join_bytes = 2000;
  const auto piece = submit(1, 100).body;
  const auto taken = [&](std::initializer_list<ClusterFragment> fragments, bool joined) {
    ClusterInbox inbox(limits, false);
    if (joined) inbox.join();
    bool good = true;
    for (const ClusterFragment& fragment : fragments) good = good && inbox.take(fragment);
    return good;
  };
  EXPECT_TRUE(taken({{1, 0, 2000, piece}, {1, 100, 2000, piece}}, false));
  EXPECT_FALSE(taken({{1, 0, 2000, piece}, {2, 0, 2000, piece}}, false));
  EXPECT_TRUE(taken({{1, 0, 2000, piece}, {2, 0, 2000, piece}}, true));
  EXPECT_FALSE(taken({{1, 0, 2001, piece}}, false));
  EXPECT_TRUE(taken({{1, 0, 2001, piece}}, true));
}

TEST(ClusterFlow, APeerThatDoesNotKeepToTheProtocolIsFound) {
  const auto refused = [](std::initializer_list<ClusterFragment> fragments) {
    ClusterInbox inbox(small_limits());
    bool error = false;
    for (const ClusterFragment& fragment : fragments) error = !inbox.take(fragment);
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
    EXPECT_TRUE(inbox.take(ClusterFragment{stream, 0, 1000, piece}));
  EXPECT_FALSE(inbox.take(ClusterFragment{999, 0, 1000, piece}));
}

TEST(ClusterFlow, AnyMixArrivesWholeAndOnce) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    std::mt19937_64 dice(seed);
    ClusterOutbox outbox(small_limits());
    ClusterInbox inbox(small_limits());
    std::deque<ClusterPieces> link;
    std::map<std::uint32_t, std::size_t> sent, received;
    for (std::uint32_t step = 0; step < 3000 || !link.empty() || outbox.queued_bytes() > 0; ++step) {
      ASSERT_LT(step, 100'000U);
      const std::size_t size = dice() % 3 == 0 ? dice() % 15'000 : dice() % 500;
      if (step < 3000 && dice() % 4 == 0 && outbox.push(submit(step, size))) sent[step] = size;
      if (auto bytes = outbox.next()) link.push_back(std::move(*bytes));
      if (link.empty() || dice() % 2 == 0) continue;
      auto message = take(inbox, link.front());
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
