#include "protocol/client/client.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "tests/unit/protocol/samples.h"
#include "tests/unit/protocol/test_server.h"

namespace volvox {
namespace {

using namespace std::chrono_literals;
using test::TestServer;

class ClientTest : public testing::Test {
 protected:
  std::unique_ptr<Client> connect(ClientOptions options = {}) {
    options.channel.endpoint = server_.endpoint();
    auto client = Client::connect(options);
    EXPECT_TRUE(client) << to_string(client.error());
    return std::move(client).value();
  }

  ClientRequest ask(const std::string& model) const {
    return chain_request(model, "token", std::span(tokens_));
  }

  // A future's value, or an error that no test expects if it never comes.
  static Reply get(std::future<Reply>& future) {
    if (future.wait_for(20s) == std::future_status::ready) return future.get();
    return local_reply(0, {ErrorCode::kInternal, "the future was never set"}, Duration{0});
  }

  const std::vector<std::int32_t> tokens_ = test::sample_tokens();
  TestServer server_;
};

TEST_F(ClientTest, AnswersThroughAFuture) {
  const auto client = connect();
  auto future = client->submit(ask("echo"));
  const Reply reply = get(future);
  ASSERT_TRUE(reply.status()) << to_string(reply.header.error);
  const auto values = *reply.body.find("token")->values<std::int32_t>();
  EXPECT_EQ(std::vector<std::int32_t>(values.begin(), values.end()), tokens_);
  EXPECT_EQ(client->in_flight(), 0U);
}

TEST_F(ClientTest, TakesRequestsFromManyThreads) {
  const auto client = connect();
  constexpr int kThreads = 4, kEach = 500;
  std::atomic<int> answered{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kEach; ++i) {
        const std::int32_t own[] = {thread, i};
        const auto sent =
            client->submit(chain_request("echo", "token", std::span(own)), [&, thread, i](Reply&& reply) {
              const WireTensor* token = reply.body.find("token");
              const auto values =
                  token != nullptr ? *token->values<std::int32_t>() : std::span<const std::int32_t>{};
              if (values.size() != 2 || values[0] != thread || values[1] != i) ++wrong;
              ++answered;
            });
        if (!sent) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  while (client->in_flight() > 0) std::this_thread::sleep_for(1ms);
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (answered < kThreads * kEach && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(1ms);
  EXPECT_EQ(answered, kThreads * kEach);
  EXPECT_EQ(wrong, 0);
}

TEST_F(ClientTest, SubmitsFromItsOwnCallbacks) {
  const auto client = connect();
  std::promise<void> done;
  std::atomic<int> left{200};
  std::function<void(Reply &&)> next = [&](Reply&& reply) {
    EXPECT_TRUE(reply.status());
    if (--left == 0) return done.set_value();
    EXPECT_TRUE(client->submit(ask("echo"), next));
  };
  ASSERT_TRUE(client->submit(ask("echo"), next));
  EXPECT_EQ(done.get_future().wait_for(20s), std::future_status::ready);
}

TEST_F(ClientTest, CallsBackForEveryPartialButFulfilsTheFutureOnce) {
  const auto client = connect();
  std::promise<int> done;
  int partials = 0;
  ASSERT_TRUE(client->submit(ask("partials"), [&](Reply&& reply) {
    if (!reply.header.final) return void(++partials);
    done.set_value(partials);
  }));
  auto count = done.get_future();
  ASSERT_EQ(count.wait_for(20s), std::future_status::ready);
  EXPECT_EQ(count.get(), 3);
  auto future = client->submit(ask("partials"));
  EXPECT_EQ(get(future).header.kind, ReplyKind::kResult);
}

TEST_F(ClientTest, CancelsAndTimesOut) {
  const auto client = connect();
  std::promise<Reply> promise;
  const auto id = client->submit(ask("hold"), [&](Reply&& reply) { promise.set_value(std::move(reply)); });
  ASSERT_TRUE(id);
  client->cancel(*id);
  auto cancelled = promise.get_future();
  EXPECT_EQ(get(cancelled).status().error().code, ErrorCode::kCancelled);
  ClientRequest request = ask("silent");
  request.timeout = 20ms;
  auto timed_out = client->submit(request);
  EXPECT_EQ(get(timed_out).status().error().code, ErrorCode::kDeadlineExceeded);
}

TEST_F(ClientTest, ClosingAnswersEverythingWithCancelled) {
  const auto client = connect();
  std::vector<std::future<Reply>> futures;
  for (int i = 0; i < 300; ++i) futures.push_back(client->submit(ask("hold")));
  client->close();
  for (auto& future : futures) {
    const Reply reply = get(future);
    EXPECT_TRUE(reply.local);
    EXPECT_EQ(reply.status().error().code, ErrorCode::kCancelled);
  }
  EXPECT_EQ(client->in_flight(), 0U);
  auto late = client->submit(ask("echo"));
  EXPECT_EQ(get(late).status().error().code, ErrorCode::kUnavailable);
  client->close();
}

TEST_F(ClientTest, ClosingUnderLoadAnswersEachExactlyOnce) {
  for (int round = 0; round < 10; ++round) {
    auto client = connect();
    std::atomic<int> accepted{0}, answered{0};
    std::thread submitter([&] {
      for (int i = 0; i < 2000; ++i) {
        if (!client->submit(ask(i % 2 == 0 ? "echo" : "silent"), [&](Reply&&) { ++answered; })) break;
        ++accepted;
      }
    });
    if (round % 2 == 0) std::this_thread::yield();
    client->close();
    submitter.join();
    EXPECT_EQ(answered, accepted);
  }
}

TEST_F(ClientTest, RefusesBeyondItsBound) {
  ClientOptions options;
  options.max_in_flight = 3;
  const auto client = connect(options);
  std::vector<std::future<Reply>> held;
  for (int i = 0; i < 3; ++i) held.push_back(client->submit(ask("hold")));
  auto refused = client->submit(ask("echo"));
  EXPECT_EQ(get(refused).status().error().code, ErrorCode::kOverloaded);
  while (server_.held() < 3) std::this_thread::sleep_for(1ms);
  server_.release();
  for (auto& future : held) EXPECT_TRUE(get(future).status());
  auto accepted = client->submit(ask("echo"));
  EXPECT_TRUE(get(accepted).status());
}

TEST_F(ClientTest, PassesOnWhatItsChannelRefuses) {
  const auto client = connect();
  auto refused = client->submit(ask(""));
  EXPECT_EQ(get(refused).status().error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(client->in_flight(), 0U);
}

TEST_F(ClientTest, CountsWhatItsChannelCounts) {
  const auto client = connect();
  auto first = client->submit(ask("twice"));
  get(first);
  auto second = client->submit(ask("echo"));
  get(second);
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (client->stats().results < 2 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(1ms);
  EXPECT_EQ(client->stats().sent, 2U);
  EXPECT_EQ(client->stats().duplicates, 1U);
}

}  // namespace
}  // namespace volvox
