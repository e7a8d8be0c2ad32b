#include "protocol/client/channel_group.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "tests/unit/protocol/patience.h"
#include "tests/unit/protocol/samples.h"
#include "tests/unit/protocol/test_server.h"

namespace volvox {
namespace {

using namespace std::chrono_literals;
using test::TestServer;
class ChannelGroupTest : public testing::Test {
 protected:
  ChannelGroupTest() {
    for (auto& server : servers_) server = std::make_unique<TestServer>();
    options_.endpoint = servers_[0]->endpoint() + "," + servers_[1]->endpoint();
  }

  // To both servers, so that a test knows where requests may go.
  std::unique_ptr<ChannelGroup> connect() {
    auto group = ChannelGroup::connect(options_);
    EXPECT_TRUE(group) << to_string(group.error());
    until("both are connected", **group, [&] { return (*group)->stats().connects == 2; });
    return std::move(group).value();
  }

  ClientRequest ask(const std::string& model) const {
    return chain_request(model, "token", std::span(tokens_));
  }

  template <class Condition>
  void until(const char* what, ChannelGroup& group, Condition condition) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << what;
      group.poll(2ms, [&](Reply&& reply) { replies_.push_back(std::move(reply)); });
    }
  }

  // The ids that hold at a server.
  std::set<std::uint64_t> asked(std::size_t server) const {
    std::set<std::uint64_t> ids;
    for (const RequestHeader& header : servers_[server]->seen())
      if (header.kind == RequestKind::kInfer) ids.insert(header.request_id);
    return ids;
  }
  std::size_t held() const {
    std::size_t count = 0;
    for (const auto& server : servers_) count += server ? server->held() : 0;
    return count;
  }

  const std::vector<std::int32_t> tokens_ = test::sample_tokens();
  std::array<std::unique_ptr<TestServer>, 2> servers_;
  ChannelOptions options_;
  std::vector<Reply> replies_;
};

TEST_F(ChannelGroupTest, SpreadsRequests) {
  const auto group = connect();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(group->send(ask("hold")));
  until("all are there", *group, [&] { return held() == 10; });
  EXPECT_EQ(servers_[0]->held(), 5U);
  servers_[0]->release();
  servers_[1]->release();
  until("all are answered", *group, [&] { return group->in_flight() == 0; });
  EXPECT_EQ(replies_.size(), 10U);
  EXPECT_EQ(group->stats().resent, 0U);
}

TEST_F(ChannelGroupTest, SendsAgainWhatADeadServerHad) {
  const auto group = connect();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(group->send(ask("hold")));
  until("all are there", *group, [&] { return held() == 10; });
  const auto moved = asked(0);
  servers_[0].reset();
  until("all are at the other", *group, [&] { return servers_[1]->held() == 10; });
  for (const std::uint64_t id : moved) EXPECT_TRUE(asked(1).contains(id));
  servers_[1]->release();
  until("all are answered", *group, [&] { return group->in_flight() == 0; });
  ASSERT_EQ(replies_.size(), 10U);
  for (const Reply& reply : replies_) EXPECT_TRUE(reply.status());
  EXPECT_EQ(group->stats().resent, 5U);
  EXPECT_EQ(group->stats().silences, 0U);
  ASSERT_TRUE(group->send(ask("echo"))) << "the one that lives is enough";
  until("it is answered", *group, [&] { return replies_.size() == 11; });
}

TEST_F(ChannelGroupTest, LeavesASilentServerAndDropsWhatItAnswersLater) {
  options_.sign_of_life = 5ms;
  options_.silent_after = 50ms;
  const auto group = connect();
  servers_[0]->pause();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(group->send(ask("echo")));
  until("all are answered", *group, [&] { return group->in_flight() == 0; });
  ASSERT_EQ(replies_.size(), 10U);
  for (const Reply& reply : replies_) {
    EXPECT_TRUE(reply.status());
    EXPECT_FALSE(reply.local);
  }
  const std::uint64_t moved = group->stats().silences;
  EXPECT_GT(moved, 0U);
  EXPECT_EQ(group->stats().resent, moved);
  servers_[0]->resume();
  until("it was told", *group, [&] { return servers_[0]->cancelled().size() == moved; });
  until("late answers came", *group, [&] { return group->stats().late == moved; });
  EXPECT_EQ(replies_.size(), 10U);
  EXPECT_EQ(group->stats().duplicates, 0U);
}

TEST_F(ChannelGroupTest, DoesNotRunTwiceWhatIsOnlySlow) {
  options_.sign_of_life = 10ms;
  options_.silent_after = 1s;
  const auto group = connect();
  ASSERT_TRUE(group->send(ask("hold")));
  const auto end = std::chrono::steady_clock::now() + 1500ms;
  until("the time has passed", *group, [&] { return std::chrono::steady_clock::now() > end; });
  EXPECT_EQ(group->stats().resent, 0U);
  EXPECT_EQ(held(), 1U);
  EXPECT_TRUE(replies_.empty());
}

TEST_F(ChannelGroupTest, GoesElsewhereWhereNothingCanBeServed) {
  const auto group = connect();
  ASSERT_TRUE(group->send(ask("unavailable")));
  until("it is answered", *group, [&] { return group->in_flight() == 0; });
  ASSERT_EQ(replies_.size(), 1U);
  EXPECT_EQ(replies_[0].status().error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(replies_[0].local);
  EXPECT_EQ(asked(0), asked(1)) << "both were asked, with the same id";
  EXPECT_EQ(group->stats().resent, 1U);
}

TEST_F(ChannelGroupTest, TriesOnlySoOften) {
  options_.max_attempts = 1;
  const auto group = connect();
  ASSERT_TRUE(group->send(ask("unavailable")));
  until("it is answered", *group, [&] { return group->in_flight() == 0; });
  EXPECT_EQ(asked(0).size() + asked(1).size(), 1U);
}

TEST_F(ChannelGroupTest, GoesOnWithAStreamWhereItStopped) {
  const auto group = connect();
  ClientRequest request = ask("rows");
  request.header.stream = true;
  request.header.stream_from = 3;
  ASSERT_TRUE(group->send(request));
  until("two rows are here", *group, [&] { return replies_.size() == 2; });
  const std::size_t first = asked(0).empty() ? 1 : 0;
  servers_[first].reset();
  until("another row is here", *group, [&] { return replies_.size() == 3; });
  servers_[1 - first]->release();
  until("it is answered", *group, [&] { return group->in_flight() == 0; });
  ASSERT_EQ(replies_.size(), 4U);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(replies_[i].header.index, 3 + i);
  EXPECT_EQ(servers_[1 - first]->seen().front().stream_from, 4U) << "the last row that is here";
  EXPECT_EQ(servers_[1 - first]->seen().front().model_version, 7U) << "of which the other rows are";
}

// The second server says the last row again, which is dropped, and right behind it the next one.
TEST_F(ChannelGroupTest, DoesNotSleepOnWhatABurstHasLeft) {
  options_.poll_burst = 1;
  options_.sign_of_life = 0ms;  // whose answers would wake it
  const auto group = connect();
  ClientRequest request = ask("rows");
  request.header.stream = true;
  ASSERT_TRUE(group->send(request));
  until("two rows are here", *group, [&] { return replies_.size() == 2; });
  servers_[asked(0).empty() ? 1 : 0].reset();
  std::vector<std::uint32_t> rows;
  EXPECT_EQ(group->poll(kPatience, [&](Reply&& reply) { rows.push_back(reply.header.index); }), 1U);
  EXPECT_EQ(rows, std::vector<std::uint32_t>{2});
}

TEST_F(ChannelGroupTest, TellsTheNextServerWhatIsLeftOfTheDeadline) {
  const auto group = connect();
  ClientRequest request = ask("hold");
  request.header.deadline_us = 60'000'000;
  ASSERT_TRUE(group->send(request));
  until("it is there", *group, [&] { return held() == 1; });
  const std::size_t first = servers_[0]->held() == 1 ? 0 : 1;
  servers_[first].reset();
  until("it is at the other", *group, [&] { return held() == 1; });
  const std::uint64_t left = servers_[1 - first]->seen().front().deadline_us;
  EXPECT_LT(left, 60'000'000U);
  EXPECT_GT(left, 0U);
}

TEST_F(ChannelGroupTest, NeverSendsAgainWhatIsCancelledOrWouldBeginTwice) {
  const auto group = connect();
  std::map<std::uint64_t, bool> again;
  for (int i = 0; i < 6; ++i) {
    ClientRequest request = ask("silent");
    if (i % 3 != 0) request.header.session.emplace().operation = SessionOperation::kBegin;
    if (i % 3 == 1) request.header.session->nonce = 77;
    const auto id = group->send(request);
    ASSERT_TRUE(id);
    again[*id] = i % 3 == 1;
    if (i % 3 == 0) {
      ASSERT_TRUE(group->cancel(*id));
    }
  }
  until("all are there", *group, [&] { return asked(0).size() + asked(1).size() == 6; });
  const auto lost = asked(0);
  servers_[0].reset();
  const auto repeated = static_cast<std::size_t>(
      std::count_if(lost.begin(), lost.end(), [&](std::uint64_t id) { return again[id]; }));
  until("what cannot be is answered", *group, [&] { return replies_.size() == lost.size() - repeated; });
  for (const Reply& reply : replies_) {
    EXPECT_EQ(reply.status().error().code, ErrorCode::kUnavailable);
    EXPECT_FALSE(again[reply.header.request_id]);
  }
  EXPECT_EQ(group->stats().resent, repeated);
}

// Only whoever has no doubt may send something else in a part's place.
TEST_F(ChannelGroupTest, SaysWhetherAPartMayHaveBeenDone) {
  const auto group = connect();
  const auto send_part = [&](const char* model) {
    ClientRequest part = ask(model);
    part.header.session.emplace().operation = SessionOperation::kContinue;
    ASSERT_TRUE(group->send(part));
  };
  ASSERT_NO_FATAL_FAILURE(send_part("unavailable"));
  until("both have refused it", *group, [&] { return replies_.size() == 1; });
  EXPECT_FALSE(replies_[0].header.undecided);
  ASSERT_NO_FATAL_FAILURE(send_part("hold"));
  until("it is there", *group, [&] { return held() == 1; });
  ASSERT_TRUE(group->send(ask("hold")));
  for (auto& server : servers_) server.reset();
  until("all are lost", *group, [&] { return replies_.size() == 3; });
  for (const Reply& reply : {replies_[1], replies_[2]}) {
    EXPECT_EQ(reply.status().error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(reply.header.undecided, reply.header.request_id == 2) << "the part alone";
  }
}

// It was lost once, and who has it now knows nothing of that.
TEST_F(ChannelGroupTest, ALaterRefusalSaysNothingOfAnEarlierAttempt) {
  const auto group = connect();
  ClientRequest part = ask("unavailable later");
  part.header.session.emplace().operation = SessionOperation::kContinue;
  ASSERT_TRUE(group->send(part));
  until("it is there", *group, [&] { return held() == 1; });
  const std::size_t first = servers_[0]->held() == 1 ? 0 : 1;
  servers_[first].reset();
  until("it is at the other", *group, [&] { return held() == 1; });
  servers_[1 - first]->release();
  until("it is refused", *group, [&] { return replies_.size() == 1; });
  EXPECT_EQ(replies_[0].status().error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(replies_[0].header.undecided);
}

TEST_F(ChannelGroupTest, ACancelledRequestOnASilentServerIsAnswered) {
  options_.sign_of_life = 5ms;
  options_.silent_after = 50ms;
  const auto group = connect();
  servers_[0]->pause();
  servers_[1]->pause();
  const auto id = group->send(ask("hold"));
  ASSERT_TRUE(id);
  ASSERT_TRUE(group->cancel(*id));
  until("it is answered", *group, [&] { return group->in_flight() == 0; });
  ASSERT_EQ(replies_.size(), 1U);
  EXPECT_EQ(replies_[0].status().error().code, ErrorCode::kCancelled);
  EXPECT_TRUE(replies_[0].local);
}

TEST_F(ChannelGroupTest, WaitsWhereItIsWhenNobodyAnswers) {
  options_.sign_of_life = 5ms;
  options_.silent_after = 30ms;
  const auto group = connect();
  servers_[0]->pause();
  servers_[1]->pause();
  ASSERT_TRUE(group->send(ask("echo")));
  const auto end = std::chrono::steady_clock::now() + 300ms;
  until("the time has passed", *group, [&] { return std::chrono::steady_clock::now() > end; });
  EXPECT_LE(group->stats().resent, 1U) << "an idle server's silence is not known yet";
  EXPECT_EQ(group->in_flight(), 1U);
  servers_[0]->resume();
  servers_[1]->resume();
  until("it is answered", *group, [&] { return group->in_flight() == 0; });
  EXPECT_TRUE(replies_.at(0).status());
}

TEST_F(ChannelGroupTest, AnswersUnavailableWhenAllAreGone) {
  const auto group = connect();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(group->send(ask("hold")));
  until("all are there", *group, [&] { return held() == 4; });
  for (auto& server : servers_) server.reset();
  until("all are answered", *group, [&] { return group->in_flight() == 0; });
  ASSERT_EQ(replies_.size(), 4U);
  for (const Reply& reply : replies_) EXPECT_EQ(reply.status().error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(group->send(ask("echo")).error().code, ErrorCode::kUnavailable);
}

TEST_F(ChannelGroupTest, KeepsOnlySoManyBytes) {
  options_.max_kept_bytes = 1000;
  const auto group = connect();
  const std::vector<std::uint8_t> large(600);
  const ClientRequest request = chain_request("hold", "x", std::span(large));
  ASSERT_TRUE(group->send(request));
  EXPECT_EQ(group->send(request).error().code, ErrorCode::kOverloaded);
  until("it is there", *group, [&] { return held() == 1; });
  for (auto& server : servers_) server->release();
  until("it is answered", *group, [&] { return group->in_flight() == 0; });
  EXPECT_TRUE(group->send(request));
}

TEST_F(ChannelGroupTest, OneServerIsEnoughToBegin) {
  options_.endpoint = "tcp://127.0.0.1:1," + servers_[0]->endpoint();
  const auto group = ChannelGroup::connect(options_);
  ASSERT_TRUE(group) << to_string(group.error());
  ASSERT_TRUE((*group)->send(ask("echo")));
  until("it is answered", **group, [&] { return (*group)->in_flight() == 0; });
  EXPECT_TRUE(replies_.at(0).status());
}

TEST_F(ChannelGroupTest, BlanksBetweenServersSayNothing) {
  options_.endpoint = " " + servers_[0]->endpoint() + " , " + servers_[1]->endpoint() + ",";
  const auto group = ChannelGroup::connect(options_);
  ASSERT_TRUE(group) << to_string(group.error());
}

TEST_F(ChannelGroupTest, RefusesWhatMakesNoSense) {
  options_.connect_timeout = 50ms;
  options_.endpoint = "tcp://127.0.0.1:1,tcp://127.0.0.1:2";
  EXPECT_EQ(ChannelGroup::connect(options_).error().code, ErrorCode::kUnavailable);
  options_.endpoint = " ,";
  EXPECT_EQ(ChannelGroup::connect(options_).error().code, ErrorCode::kInvalidArgument);
  options_.endpoint = "tcp://127.0.0.1:1,here";
  EXPECT_EQ(ChannelGroup::connect(options_).error().code, ErrorCode::kInvalidArgument);
  options_.endpoint = servers_[0]->endpoint();
  for (int i = 0; i < 15; ++i) options_.endpoint += "," + servers_[1]->endpoint();
  EXPECT_EQ(ChannelGroup::connect(options_).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace volvox
