#include "protocol/sockets/reply_backlog.h"
#include "protocol/sockets/reply_shares.h"
#include "tests/unit/base/failing_new.h"
#include "tests/unit/protocol/edge_peers.h"

namespace volvox {
namespace {

using test::FailingNew;

const ClientId kClient(40, 'c');  // longer than a string keeps within itself

TEST(ReplyShares, LetsNothingInWithoutMemory) {
  if (!FailingNew::kWorks) GTEST_SKIP() << "memory does not fail in this build";
  ReplyShares shares(1000, 1000);
  bool failed = true;
  for (int nth = 0; failed; ++nth) {
    std::optional<std::uint64_t> held;
    {
      const FailingNew failing(nth);
      try {
        held = shares.hold(kClient, 10);
      } catch (const std::bad_alloc&) {
      }
      failed = FailingNew::failed();
    }
    ASSERT_NE(held.has_value(), failed) << nth;
    EXPECT_EQ(shares.replies(), failed ? 0U : 1U);
    const auto other = shares.hold("other", 10);
    ASSERT_TRUE(other);
    shares.give_back(*other, 10);
    if (held) shares.give_back(*held, 10);
    EXPECT_EQ(shares.bytes(), 0U);
    EXPECT_EQ(shares.holders(), 0U);
  }
}

TEST(ReplyBacklog, LeavesAReplyWithItsOwnerWithoutMemory) {
  if (!FailingNew::kWorks) GTEST_SKIP() << "memory does not fail in this build";
  bool failed = true;
  for (int nth = 0; failed; ++nth) {
    ReplyBacklog backlog(1s);
    OutgoingReply reply{kClient, buffer("header"), buffer("body")};
    {
      const FailingNew failing(nth);
      try {
        backlog.add(std::move(reply), {});
      } catch (const std::bad_alloc&) {
        EXPECT_EQ(reply.client, kClient);
      }
      failed = FailingNew::failed();
    }
    EXPECT_EQ(backlog.replies(), failed ? 0U : 1U);
    EXPECT_EQ(backlog.remove(kClient), failed ? 0U : 1U);
    EXPECT_TRUE(backlog.empty());
  }
}

// Whoever waits for a reply that no memory was found for is cut off, and learns of it so.
TEST_F(EdgeSocketTest, SendsAReplyOrCutsItsClientOffWithoutMemory) {
  if (!FailingNew::kWorks) GTEST_SKIP() << "memory does not fail in this build";
  open();
  std::size_t sent = 0;
  bool failed = true;
  for (int nth = 0; failed; ++nth) {
    RawClient client(edge_->endpoint());
    client.send({"header", "body"});
    recorder_ = {};
    run_until([&] { return recorder_.requests.size() == 1; });
    edge_->post_anyway({recorder_.requests[0].client, buffer("answer"), buffer(std::string(100'000, 'x'))});
    {
      const FailingNew failing(nth);
      edge_->run_once(0ms);
      failed = FailingNew::failed();
    }
    if (recorder_.gone.empty()) {
      EXPECT_EQ(client.receive().at(0), "answer");
      ++sent;
    } else {
      ASSERT_EQ(recorder_.gone[0].first, recorder_.requests[0].client);
      EXPECT_EQ(recorder_.gone[0].second, ClientGone::kTooSlow);
    }
    wait_until([&] { return edge_->waiting_bytes() == 0; });
    EXPECT_EQ(edge_->stats().replies, sent);
    EXPECT_EQ(edge_->stats().replies + edge_->stats().dropped_slow, static_cast<std::size_t>(nth) + 1);
  }
  EXPECT_GT(edge_->stats().dropped_slow, 0U);
}

}  // namespace
}  // namespace volvox
