#include "protocol/client/channel.h"

#include <atomic>
#include <set>
#include <thread>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "protocol/client/session_stream.h"
#include "protocol/codec/codec.h"
#include "tests/unit/protocol/patience.h"
#include "tests/unit/protocol/samples.h"
#include "tests/unit/protocol/test_server.h"

namespace volvox {
namespace {

using namespace std::chrono_literals;
using test::TestServer;
class ChannelTest : public testing::Test {
 protected:
  std::unique_ptr<Channel> connect(ChannelOptions options = {}) {
    options.endpoint = server_.endpoint();
    auto channel = Channel::connect(options);
    EXPECT_TRUE(channel) << to_string(channel.error());
    return std::move(channel).value();
  }

  ClientRequest ask(const std::string& model) const {
    return chain_request(model, "token", std::span(tokens_));
  }

  // Polls until `count` more replies were delivered.
  std::vector<Reply> collect(Channel& channel, std::size_t count) {
    std::vector<Reply> replies;
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (replies.size() < count && std::chrono::steady_clock::now() < end) {
      channel.poll(100ms, [&](Reply&& reply) { replies.push_back(std::move(reply)); });
    }
    EXPECT_EQ(replies.size(), count);
    return replies;
  }

  // A ping and its pong: whatever the server sent before has arrived, too.
  void settle(Channel& channel) {
    const auto id = channel.ping();
    ASSERT_TRUE(id);
    const auto replies = collect(channel, 1);
    EXPECT_EQ(replies.at(0).header.kind, ReplyKind::kPong);
    EXPECT_EQ(replies.at(0).header.request_id, *id);
  }

  const std::vector<std::int32_t> tokens_ = test::sample_tokens();
  TestServer server_;
};

TEST_F(ChannelTest, CarriesARequestAndItsAnswer) {
  const auto channel = connect();
  EXPECT_TRUE(channel->connected());
  ClientRequest request = ask("echo");
  request.header.priority = WirePriority::kHigh;
  request.header.deadline_us = 5'000'000;
  const auto id = channel->send(request);
  ASSERT_TRUE(id);
  EXPECT_EQ(channel->in_flight(), 1U);
  const auto replies = collect(*channel, 1);
  const Reply& reply = replies.at(0);
  EXPECT_TRUE(reply.status());
  EXPECT_FALSE(reply.local);
  EXPECT_TRUE(reply.header.final);
  EXPECT_EQ(reply.header.request_id, *id);
  EXPECT_EQ(reply.header.cells, tokens_.size());
  EXPECT_GT(reply.elapsed.count(), 0);
  ASSERT_NE(reply.body.find("token"), nullptr);
  const auto values = *reply.body.find("token")->values<std::int32_t>();
  EXPECT_EQ(std::vector<std::int32_t>(values.begin(), values.end()), tokens_);
  EXPECT_EQ(channel->in_flight(), 0U);
  EXPECT_EQ(server_.seen().at(0).priority, WirePriority::kHigh);
  EXPECT_EQ(server_.seen().at(0).deadline_us, 5'000'000U);
}

TEST_F(ChannelTest, KeepsManyInFlightAndAnswersEachOnce) {
  const auto channel = connect();
  std::multiset<std::uint64_t> open;
  for (int i = 0; i < 3000; ++i) open.insert(channel->send(ask("echo")).value());
  EXPECT_EQ(channel->in_flight(), 3000U);
  for (const Reply& reply : collect(*channel, 3000)) EXPECT_EQ(open.erase(reply.header.request_id), 1U);
  EXPECT_TRUE(open.empty());
  const ChannelStats stats = channel->stats();
  EXPECT_EQ(stats.sent, 3000U);
  EXPECT_EQ(stats.results, 3000U);
  EXPECT_EQ(stats.duplicates + stats.late + stats.unknown + stats.errors, 0U);
}

TEST_F(ChannelTest, TakesNoMoreThanItsBurstInOnePollAndLosesNothing) {
  ChannelOptions options;
  options.poll_burst = 4;
  const auto channel = connect(options);
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(channel->send(ask("echo")));
  std::size_t answered = 0;
  while (answered < 200) {
    std::size_t at_once = 0;
    ASSERT_GT(channel->poll(kPatience, [&](Reply&&) { ++at_once; }), 0U)
        << "slept on replies that were there";
    EXPECT_LE(at_once, 4U);
    answered += at_once;
  }
  EXPECT_EQ(channel->in_flight(), 0U);
}

TEST_F(ChannelTest, SendsFromWithinTheHandler) {
  const auto channel = connect();
  ASSERT_TRUE(channel->send(ask("echo")));
  int answered = 0;
  while (answered < 500) {
    channel->poll(kPatience, [&](Reply&& reply) {
      EXPECT_TRUE(reply.status());
      if (++answered == 500) return;
      EXPECT_TRUE(channel->send(ask("echo")));
    });
  }
  EXPECT_EQ(channel->stats().results, 500U);
}

TEST_F(ChannelTest, SendsAnEncodedBodyAgainAndAgain) {
  const auto channel = connect();
  const ClientRequest request = ask("echo");
  const auto body = encode_request_body(request.body, WireLimits{});
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(channel->send(request.header, body->bytes()));
  for (const Reply& reply : collect(*channel, 10)) EXPECT_NE(reply.body.find("token"), nullptr);
}

TEST_F(ChannelTest, CountsASecondAnswerWithoutDeliveringIt) {
  const auto channel = connect();
  ASSERT_TRUE(channel->send(ask("twice")));
  collect(*channel, 1);
  settle(*channel);
  EXPECT_EQ(channel->stats().duplicates, 1U);
  EXPECT_EQ(channel->stats().results, 2U);  // the pong is one
}

TEST_F(ChannelTest, DeliversPartialsInOrderAndOnce) {
  const auto channel = connect();
  ASSERT_TRUE(channel->send(ask("partials")));
  const auto replies = collect(*channel, 4);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(replies.at(i).header.kind, ReplyKind::kPartial);
    EXPECT_EQ(replies.at(i).header.index, i);
    EXPECT_FALSE(replies.at(i).header.final);
    EXPECT_EQ(replies.at(i).body.find("index")->values<std::uint32_t>()->front(), i);
  }
  EXPECT_TRUE(replies.at(3).header.final);
  EXPECT_EQ(channel->stats().partials, 3U);
  EXPECT_EQ(channel->stats().duplicates, 1U);
}

TEST_F(ChannelTest, DeliversARefusal) {
  const auto channel = connect();
  ASSERT_TRUE(channel->send(ask("refuse")));
  const auto replies = collect(*channel, 1);
  EXPECT_EQ(replies.at(0).status().error(), (Error{ErrorCode::kOverloaded, "try again later"}));
  EXPECT_EQ(replies.at(0).header.retry_after_us, 1500U);
  EXPECT_EQ(channel->stats().errors, 1U);
}

TEST_F(ChannelTest, AnswersLocallyAfterItsTimeAndCountsTheLateReply) {
  const auto channel = connect();
  ClientRequest request = ask("hold");
  request.timeout = 30ms;
  const auto id = channel->send(request);
  const auto replies = collect(*channel, 1);
  EXPECT_TRUE(replies.at(0).local);
  EXPECT_EQ(replies.at(0).header.request_id, *id);
  EXPECT_EQ(replies.at(0).status().error().code, ErrorCode::kDeadlineExceeded);
  EXPECT_GE(replies.at(0).elapsed, 30ms);
  EXPECT_EQ(channel->in_flight(), 0U);
  settle(*channel);
  EXPECT_EQ(server_.cancelled(), (std::multiset<std::uint64_t>{*id}));  // it was told, and answered CANCELLED
  settle(*channel);
  EXPECT_EQ(channel->stats().timeouts, 1U);
  EXPECT_EQ(channel->stats().late, 1U);
  EXPECT_EQ(channel->stats().duplicates, 0U);
}

TEST_F(ChannelTest, KeepsTheCancellationToItselfIfToldSo) {
  ChannelOptions options;
  options.cancel_on_timeout = false;
  options.default_timeout = 20ms;
  const auto channel = connect(options);
  ASSERT_TRUE(channel->send(ask("hold")));
  EXPECT_TRUE(collect(*channel, 1).at(0).local);
  ASSERT_TRUE(channel->ping(kPatience));
  collect(*channel, 1);
  EXPECT_TRUE(server_.cancelled().empty());
}

TEST_F(ChannelTest, CancelsARequestInFlight) {
  const auto channel = connect();
  const auto id = channel->send(ask("hold"));
  ASSERT_TRUE(channel->cancel(*id));
  const auto replies = collect(*channel, 1);
  EXPECT_EQ(replies.at(0).status().error().code, ErrorCode::kCancelled);
  EXPECT_FALSE(replies.at(0).local);
}

TEST_F(ChannelTest, AnswersForRepliesThatCannotBeRead) {
  const auto channel = connect();
  ASSERT_TRUE(channel->send(ask("bad-body")));
  EXPECT_EQ(collect(*channel, 1).at(0).status().error().code, ErrorCode::kInternal);
  ASSERT_TRUE(channel->send(ask("version-9")));
  const auto replies = collect(*channel, 1);
  EXPECT_EQ(replies.at(0).status().error().code, ErrorCode::kUnsupportedVersion);
  EXPECT_TRUE(replies.at(0).local);
  EXPECT_EQ(channel->stats().unreadable, 2U);
}

TEST_F(ChannelTest, CountsRepliesToNothing) {
  ChannelOptions options;
  options.default_timeout = 200ms;
  const auto channel = connect(options);
  ASSERT_TRUE(channel->send(ask("wrong-id")));
  ASSERT_TRUE(channel->send(ask("bad-header")));
  for (const Reply& reply : collect(*channel, 2)) EXPECT_TRUE(reply.local);
  EXPECT_EQ(channel->stats().unknown, 2U);
  EXPECT_FALSE(channel->last_problem().empty());
}

TEST_F(ChannelTest, ShowsLifeWhileRequestsAreInFlight) {
  ChannelOptions options;
  options.sign_of_life = 1ms;
  auto channel = connect(options);
  EXPECT_EQ(channel->poll(20ms, [](Reply&&) {}), 0U);
  EXPECT_TRUE(server_.seen().empty()) << "nothing is in flight";
  const std::uint64_t id = channel->send(ask("hold")).value();
  const auto signs = [&] {
    std::size_t count = 0;
    for (const RequestHeader& header : server_.seen())
      count += header.kind == RequestKind::kPing && header.request_id == 0 ? 1 : 0;
    return count;
  };
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (signs() < 3 && std::chrono::steady_clock::now() < end) {
    EXPECT_EQ(channel->poll(5ms, [](Reply&&) {}), 0U) << "answers to signs of life are nobody's business";
  }
  EXPECT_GE(signs(), 3U);
  server_.release();
  EXPECT_EQ(collect(*channel, 1)[0].header.request_id, id);
  EXPECT_EQ(channel->stats().unknown, 0U);
}

TEST_F(ChannelTest, RefusesWhatTheServerWould) {
  const auto channel = connect();
  EXPECT_EQ(channel->send(ask("")).error().code, ErrorCode::kInvalidArgument);
  ClientRequest request = ask("echo");
  request.body.inputs[0].shape = {7};
  EXPECT_EQ(channel->send(request).error().code, ErrorCode::kInvalidArgument);
  request = ask("hold");
  request.header.request_id = 42;
  EXPECT_EQ(channel->send(request).value(), 42U);
  EXPECT_FALSE(channel->send(request));
  EXPECT_EQ(channel->in_flight(), 1U);
  EXPECT_EQ(channel->send(ask("hold")).value(), 43U);
}

TEST_F(ChannelTest, PollReturnsWhenTimeIsOverOrWhenWoken) {
  const auto channel = connect();
  const auto nothing = [](Reply&&) { FAIL(); };
  EXPECT_EQ(channel->poll(0ms, nothing), 0U);
  EXPECT_EQ(channel->poll(5ms, nothing), 0U);
  EventFd wake;
  std::thread waker([&] { wake.signal(); });
  EXPECT_EQ(channel->poll(Duration::max(), nothing, wake.fd()), 0U);  // would never return by itself
  waker.join();
}

TEST(ChannelConnection, SaysWhenNobodyAnswers) {
  ChannelOptions options;
  options.endpoint = "tcp://127.0.0.1:1";
  options.connect_timeout = 50ms;
  const auto channel = Channel::connect(options);
  ASSERT_FALSE(channel);
  EXPECT_EQ(channel.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(
      test::contains(channel.error().message, "no server answers at 'tcp://127.0.0.1:1' within 50 ms"));
  options.endpoint = "nonsense";
  EXPECT_EQ(Channel::connect(options).error().code, ErrorCode::kInvalidArgument);
  options.endpoint = "tcp://127.0.0.1:1";
  options.poll_burst = 0;
  EXPECT_EQ(Channel::connect(options).error().code, ErrorCode::kInvalidArgument) << "nothing would ever come";
}

// A server without room for more: it accepts and closes.
class FullServer {
 public:
  FullServer() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_, any, size), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    EXPECT_EQ(::getsockname(listener_, any, &size), 0);
    endpoint_ = "tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] {
      for (int one = ::accept(listener_, nullptr, nullptr); one >= 0;
           one = ::accept(listener_, nullptr, nullptr), ++closed_)
        ::close(one);
    });
  }
  ~FullServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  const std::string& endpoint() const { return endpoint_; }
  int closed() const { return closed_; }

 private:
  const int listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
  std::string endpoint_;
  std::atomic<int> closed_ = 0;
  std::thread thread_;
};

TEST(ChannelConnection, ClosedWithoutAWordIsNoRefusal) {
  const FullServer server;
  ChannelOptions options;
  options.endpoint = server.endpoint();
  options.connect_timeout = 1s;
  const auto channel = Channel::connect(options);
  ASSERT_FALSE(channel);
  EXPECT_EQ(channel.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(test::contains(channel.error().message, "has it room for more")) << channel.error().message;
  EXPECT_GT(server.closed(), 1) << "it was tried again";
}

TEST(ChannelConnection, DoesNotHammerAtAServerThatIsFull) {
  const FullServer server;
  ChannelOptions options;
  options.endpoint = server.endpoint();
  const auto channel = Channel::open(options).value();
  int looks = 0;  // as an event loop that looks whenever there is something to see
  for (; server.closed() < 6; ++looks) channel->poll(10ms, [](Reply&&) {});
  EXPECT_GT(looks, 6) << "ZeroMQ waits at least 100 ms before each new try";
}

TEST(ChannelConnection, RefusesWhenItsQueueIsFull) {
  ZmqContext context;
  ZmqSocket deaf(context, ZMQ_ROUTER);  // accepts the connection and reads next to nothing
  ASSERT_TRUE(deaf.set(ZMQ_RCVHWM, 1));
  ASSERT_TRUE(deaf.set(ZMQ_LINGER, 0));
  ASSERT_TRUE(deaf.bind("tcp://127.0.0.1:*"));
  ChannelOptions options;
  options.endpoint = deaf.last_endpoint();
  options.send_queue = 2;
  options.linger = 0ms;
  const auto channel = Channel::connect(options).value();
  const std::vector<std::uint8_t> large(1 << 20);
  const ClientRequest request = chain_request("m", "x", std::span(large));
  std::size_t accepted = 0;
  Result<std::uint64_t> sent = channel->send(request);
  for (; sent && accepted < 1000; ++accepted) sent = channel->send(request);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, ErrorCode::kOverloaded);
  EXPECT_EQ(channel->in_flight(), accepted);
}

TEST(ChannelConnection, AnswersEverythingWhenTheServerDiesAndConnectsAnew) {
  auto server = std::make_unique<TestServer>();
  ChannelOptions options;
  options.endpoint = server->endpoint();
  auto channel = Channel::connect(options).value();
  const auto tokens = test::sample_tokens();
  const ClientRequest request = chain_request("hold", "token", std::span(tokens));
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(channel->send(request));
  while (server->held() < 5) std::this_thread::sleep_for(1ms);
  server.reset();
  std::size_t lost = 0;
  while (lost < 5) {
    ASSERT_GT(channel->poll(kPatience,
                            [&](Reply&& reply) {
                              EXPECT_TRUE(reply.local);
                              EXPECT_EQ(reply.status().error().code, ErrorCode::kUnavailable);
                              ++lost;
                            }),
              0U);
  }
  EXPECT_FALSE(channel->connected());
  EXPECT_EQ(channel->send(request).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(channel->stats().lost, 5U);

  server = std::make_unique<TestServer>(options.endpoint);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  Result<std::uint64_t> sent = fail(ErrorCode::kUnavailable, "");
  while (!sent && std::chrono::steady_clock::now() < end) {
    channel->poll(10ms, [](Reply&&) {});
    sent = channel->ping();
  }
  ASSERT_TRUE(sent) << to_string(sent.error());
  bool pong = false;
  while (!pong && std::chrono::steady_clock::now() < end) {
    channel->poll(1s, [&](Reply&& reply) { pong = reply.header.kind == ReplyKind::kPong; });
  }
  EXPECT_TRUE(pong);
  for (const RequestHeader& header : server->seen())
    EXPECT_EQ(header.kind, RequestKind::kPing) << "nothing from before was sent again";
  EXPECT_EQ(channel->stats().connects, 2U);
}

TEST(ChannelConnection, WhatWaitedForItsConnectionGoesWithIt) {
  ZmqContext context;
  std::optional<ZmqSocket> deaf;
  deaf.emplace(context, ZMQ_ROUTER);
  ASSERT_TRUE(deaf->set(ZMQ_RCVHWM, 1));
  ASSERT_TRUE(deaf->set(ZMQ_LINGER, 0));
  ASSERT_TRUE(deaf->bind("tcp://127.0.0.1:*"));
  ChannelOptions options;
  options.endpoint = deaf->last_endpoint();
  options.linger = kPatience;  // which is for a channel that closes
  auto channel = Channel::connect(options).value();
  const std::vector<std::uint8_t> large(1 << 20);
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(channel->send(chain_request("m", "x", std::span(large))));
  deaf.reset();
  std::size_t lost = 0;
  while (lost < 40) ASSERT_GT(channel->poll(kPatience, [&](Reply&&) { ++lost; }), 0U);

  const TestServer server(options.endpoint);
  bool pong = false;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (bool asked = false; !pong && std::chrono::steady_clock::now() < end;) {
    if (!asked) asked = channel->ping().has_value();
    channel->poll(10ms, [&](Reply&& reply) { pong = reply.header.kind == ReplyKind::kPong; });
  }
  EXPECT_TRUE(pong);
  for (const RequestHeader& header : server.seen())
    EXPECT_EQ(header.kind, RequestKind::kPing) << "what was answered here as lost came all the same";
}

TEST(ChannelConnection, DeliversWhatCameBeforeTheConnectionBroke) {
  auto server = std::make_unique<TestServer>();
  ChannelOptions options;
  options.endpoint = server->endpoint();
  auto channel = Channel::connect(options).value();
  const auto tokens = test::sample_tokens();
  ASSERT_TRUE(channel->ping());
  while (channel->in_flight() > 0) channel->poll(kPatience, [](Reply&&) {});  // all that came is read
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(channel->send(chain_request("echo", "token", std::span(tokens))));
  while (server->edge().stats().replies < 21) std::this_thread::sleep_for(1ms);
  server.reset();  // its socket lingers until the replies are out
  std::size_t results = 0;
  while (channel->in_flight() > 0) {
    ASSERT_GT(channel->poll(kPatience, [&](Reply&& reply) { results += reply.status() ? 1 : 0; }), 0U);
  }
  EXPECT_EQ(results, 20U);
}

class ChannelBundles : public ChannelTest {
 protected:
  // Sends a bundle of three parts: what was answered once all are, or the time is over.
  std::vector<BundleReply> ask_for_three(Channel& channel, const std::string& model,
                                         Duration timeout = Duration{0}) {
    std::vector<BundleReply> replies;
    channel.on_bundle([&](BundleReply&& reply) { replies.push_back(std::move(reply)); });
    ClientBundle bundle;
    bundle.header.model = model;
    bundle.timeout = timeout;
    for (int i = 0; i < 3; ++i) bundle.parts.add(SessionStream::begin().next(), 8);
    bundle.inputs = {wire_tensor("token", std::span(tokens_))};
    const auto id = channel.send(bundle);
    EXPECT_TRUE(id) << to_string(id.error());
    EXPECT_EQ(channel.in_flight(), 1U);
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (channel.in_flight() > 0 && std::chrono::steady_clock::now() < end)
      channel.poll(100ms, [](Reply&& reply) { ADD_FAILURE() << reply.header.request_id; });
    EXPECT_EQ(channel.in_flight(), 0U);
    for (const BundleReply& reply : replies) EXPECT_EQ(reply.first_id, id.value_or(0));
    return replies;
  }
};

TEST_F(ChannelBundles, AServerThatKnowsNoneRefusesEachPart) {
  const auto channel = connect();
  const auto replies = ask_for_three(*channel, "echo");
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_TRUE(replies[0].final);
  EXPECT_FALSE(replies[0].local);
  ASSERT_EQ(replies[0].body.errors.size(), 3U);
  for (std::uint32_t part = 0; part < 3; ++part) {
    EXPECT_EQ(replies[0].body.errors[part].part, part);
    EXPECT_EQ(replies[0].body.errors[part].error.code, ErrorCode::kInvalidArgument);
    EXPECT_FALSE(replies[0].body.errors[part].undecided);
  }
  const auto next = channel->send(ask("echo"));
  ASSERT_TRUE(next);
  EXPECT_EQ(*next, replies[0].first_id + 3) << "each part has an id of its own";
  collect(*channel, 1);
}

TEST_F(ChannelBundles, APartIsAnsweredOnceWhateverTheServerSays) {
  const auto channel = connect();
  const auto replies = ask_for_three(*channel, "parts");
  ASSERT_EQ(replies.size(), 3U);
  for (std::uint32_t i = 0; i < 3; ++i) {
    ASSERT_EQ(replies[i].body.errors.size(), 1U);
    EXPECT_EQ(replies[i].body.errors[0].part, 2 - i);
    EXPECT_EQ(replies[i].final, i == 2);
  }
  settle(*channel);
  EXPECT_EQ(channel->stats().errors, 3U);
  EXPECT_EQ(channel->stats().duplicates, 5U) << "three repeats, and twice a part that there is not";
}

TEST_F(ChannelBundles, WhatCannotBeReadIsAnErrorOfEachPart) {
  const auto channel = connect();
  const auto replies = ask_for_three(*channel, "bad-body");
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_TRUE(replies[0].local);
  ASSERT_EQ(replies[0].body.errors.size(), 3U);
  EXPECT_EQ(replies[0].body.errors[0].error.code, ErrorCode::kInternal);
  EXPECT_TRUE(replies[0].body.errors[0].undecided);
  EXPECT_EQ(channel->stats().unreadable, 1U);
}

TEST_F(ChannelBundles, ATimeLimitIsThatOfEachPart) {
  const auto channel = connect();
  const auto replies = ask_for_three(*channel, "silent", 30ms);
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_TRUE(replies[0].local);
  ASSERT_EQ(replies[0].body.errors.size(), 3U);
  EXPECT_EQ(replies[0].body.errors[2].error.code, ErrorCode::kDeadlineExceeded);
  settle(*channel);
  EXPECT_EQ(server_.seen().at(1).kind, RequestKind::kCancel);
  EXPECT_EQ(server_.seen().at(1).parts, 3U);
}

}  // namespace
}  // namespace volvox
