#include "protocol/sockets/reply_backlog.h"

#include <cerrno>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace volvox {
namespace {

TimePoint at(int ns) {
  return TimePoint(Duration(ns));
}

class ReplyBacklogTest : public testing::Test {
 protected:
  OutgoingReply reply(const ClientId& client, std::size_t bytes = 8) {
    return {client, WireBuffer::zeroed(bytes), {}};
  }
  // Lets each client take so many replies, then answers `error`.
  void retry(int now, int error = EAGAIN) {
    backlog_.retry(
        at(now),
        [&](OutgoingReply& reply) {
          if (room_[reply.client] == 0) return error;
          --room_[reply.client];
          sent_.push_back(reply.client + std::to_string(reply.bytes()));
          return 0;
        },
        [&](const ClientId& client, std::size_t replies, int why) {
          gone_.push_back(client + std::to_string(replies) + (why == EAGAIN ? " slow" : " unreachable"));
        });
  }

  ReplyBacklog backlog_{Duration(50)};
  std::map<ClientId, int> room_;
  std::vector<std::string> sent_, gone_;
};

TEST_F(ReplyBacklogTest, SendsInOrderAsRoomComes) {
  for (const std::size_t bytes : {8, 16, 24}) backlog_.add(reply("a", bytes), at(0));
  room_["a"] = 2;
  retry(10);
  EXPECT_EQ(sent_, (std::vector<std::string>{"a8", "a16"}));
  EXPECT_TRUE(backlog_.holds("a"));
  EXPECT_EQ(backlog_.replies(), 1U);
  room_["a"] = 1;
  retry(20);
  EXPECT_TRUE(backlog_.empty());
  EXPECT_TRUE(gone_.empty());
}

TEST_F(ReplyBacklogTest, LosesPatienceOnlyWithoutProgress) {
  for (int i = 0; i < 3; ++i) backlog_.add(reply("a"), at(0));
  backlog_.add(reply("b"), at(0));
  room_["a"] = 1;
  retry(49);
  EXPECT_TRUE(gone_.empty());
  retry(50);
  EXPECT_EQ(gone_, std::vector<std::string>{"b1 slow"});
  EXPECT_TRUE(backlog_.holds("a"));
  retry(99);
  EXPECT_EQ(gone_.back(), "a2 slow");
  EXPECT_TRUE(backlog_.empty());
  EXPECT_EQ(backlog_.replies(), 0U);
}

TEST_F(ReplyBacklogTest, ForgetsAClient) {
  backlog_.add(reply("a"), at(0));
  backlog_.add(reply("b"), at(0));
  EXPECT_EQ(backlog_.remove("a"), 1U);
  EXPECT_EQ(backlog_.remove("a"), 0U);
  EXPECT_EQ(backlog_.replies(), 1U);
}

TEST_F(ReplyBacklogTest, GivesUpOnTheUnreachableAtOnce) {
  backlog_.add(reply("a"), at(0));
  backlog_.add(reply("a"), at(0));
  retry(1, EHOSTUNREACH);
  EXPECT_EQ(gone_, std::vector<std::string>{"a2 unreachable"});
  EXPECT_TRUE(backlog_.empty());
}

}  // namespace
}  // namespace volvox
