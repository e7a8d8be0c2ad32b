#include "actors/process/server.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <mutex>
#include <random>
#include <vector>

#include <gmock/gmock.h>

#include "actors/node/dispatcher.h"
#include "tests/unit/actors/house.h"

namespace volvox {
namespace {

using testing::HasSubstr;

TEST(Server, AnswersOneRequest) {
  const House house;
  const Reply reply = house.ask({1, 2, 3});
  ASSERT_TRUE(reply.status()) << reply.header.error.message;
  EXPECT_EQ(state_in(reply), check_answer({1, 2, 3}));
  EXPECT_EQ(reply.header.cells, 3U);
  EXPECT_EQ(reply.header.server, "volvox");
  EXPECT_GE(reply.header.timings.total_us, reply.header.timings.queue_us + reply.header.timings.compute_us);
}

// A door checks and unfolds what is small itself, and the reader of large bodies what is large.
TEST(Server, AnswersSmallRequestsAndLargeOnes) {
  const House house;
  const std::size_t most = Dispatcher::kSmallBody / sizeof(std::int32_t);
  for (const std::size_t length : {std::size_t{1}, most / 2, most}) {  // the last one's body has more bytes
    const std::vector<std::int32_t> tokens(length, 3);
    EXPECT_EQ(state_in(house.ask(tokens)), check_answer(tokens)) << length;
    ClientRequest wrong = chain_request("check", "tokens", std::span(tokens));
    wrong.body.structure = ChainStructure{static_cast<std::uint32_t>(length) + 1};
    EXPECT_EQ(code_of(house.ask(wrong)), ErrorCode::kInvalidArgument) << length;
  }
}

TEST(Server, ALargeBodyHoldsUpLargeOnesOnly) {
  std::promise<void> held;
  std::atomic<int> read{0};
  FaultHooks faults;
  faults.reader = [&, go = held.get_future().share()](const IncomingRequest&) {
    ++read;
    go.wait();
  };
  const House house(loopback(), TimedCost{0, 0}, faults);
  const std::vector<std::int32_t> large(Dispatcher::kSmallBody / sizeof(std::int32_t), 3);
  auto first = house.submit(large), second = house.submit(large);
  std::promise<Reply> ended;
  const auto third = house.client->submit(chain_request("check", "tokens", std::span(large)),
                                          [&](Reply&& reply) { ended.set_value(std::move(reply)); });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(state_in(house.ask({1, 2, 3})), check_answer({1, 2, 3}));
  EXPECT_TRUE(third);
  if (third) house.client->cancel(*third);
  EXPECT_EQ(code_of(ended.get_future().get()), ErrorCode::kCancelled) << "at once";
  held.set_value();
  for (auto* answer : {&first, &second}) EXPECT_EQ(state_in(answer->get()), check_answer(large));
  wait_for_metric(house, "volvox_requests_in_flight", 0);
  EXPECT_EQ(read, 3);
  EXPECT_EQ(house.client->stats().duplicates, 0U);
}

TEST(Server, AModelsWaitingRequestsAreBoundedByItsTable) {
  ServeConfig config = loopback();
  config.model = {{.name = "check", .max_waiting = 3}};
  config.batching.max_batch = 1;
  config.batching.max_tasks_to_submit = 1;
  const auto device = held_device();
  House house(config, device);
  const std::string none_waits = "volvox_model_waiting_requests{device=\"fake\",model=\"check/1\"} 0\n";
  std::vector<std::future<Reply>> answers;
  answers.push_back(house.submit({1, 2, 3}));
  house.wait_for_live(1);
  while (house.monitor.metrics_page().body.find(none_waits) == std::string::npos) {
  }
  for (int i = 0; i < 19; ++i) answers.push_back(house.submit({1, 2, 3}));
  const auto is_there = [](const std::future<Reply>& answer) {
    return answer.wait_for(std::chrono::milliseconds(1)) == std::future_status::ready;
  };
  while (std::count_if(answers.begin(), answers.end(), is_there) < 16) {
  }
  const LetRun let_run(device);
  std::size_t done = 0, refused = 0;
  for (auto& answer : answers) {
    const Reply reply = answer.get();
    if (state_in(reply) == check_answer({1, 2, 3})) ++done;
    if (code_of(reply) != ErrorCode::kOverloaded) continue;
    ++refused;
    EXPECT_GT(reply.header.retry_after_us, 0U);
  }
  EXPECT_EQ(done, 4U) << "one that runs, and three that wait";
  EXPECT_EQ(refused, 16U);
}

// Every answer belongs to its own request, and comes once.
TEST(Server, AnswersManyRequestsOnceAndRightly) {
  const House house(loopback(), {5, 0.1});
  constexpr std::size_t kRequests = 3000;
  std::vector<std::vector<std::int32_t>> asked(kRequests);
  std::mt19937 random(7);
  std::vector<std::atomic<int>> answers(kRequests);
  std::atomic<int> wrong{0};
  std::atomic<std::size_t> left{kRequests};
  std::promise<void> all;
  for (std::size_t i = 0; i < kRequests; ++i) {
    asked[i].resize(1 + random() % 40);
    for (auto& token : asked[i]) token = static_cast<std::int32_t>(random() % 30'000);
    const auto sent =
        house.client->submit(chain_request("check", "tokens", std::span(asked[i])), [&, i](Reply&& reply) {
          ++answers[i];
          if (state_in(reply) != check_answer(asked[i])) ++wrong;
          if (--left == 0) all.set_value();
        });
    ASSERT_TRUE(sent) << sent.error().message;
  }
  ASSERT_EQ(all.get_future().wait_for(kLongEnough), std::future_status::ready);
  EXPECT_EQ(wrong, 0);
  for (const auto& count : answers) EXPECT_EQ(count, 1);
  EXPECT_EQ(house.client->stats().duplicates, 0U);
  const std::string metrics = house.monitor.metrics_page().body;
  EXPECT_THAT(metrics, HasSubstr("volvox_requests_total{outcome=\"ok\"} 3000\n"));
  EXPECT_THAT(metrics, HasSubstr("volvox_actor_restarts_total 0\n"));
}

TEST(Server, SeveralQueuesAndThePaddedPolicyAnswerTheSame) {
  ServeConfig config = loopback();
  config.device.queues = 3;
  config.batching.policy = PolicyKind::kPadded;
  const House house(config, {5, 0.1});
  std::vector<std::pair<std::vector<std::int32_t>, std::future<Reply>>> asked;
  for (std::int32_t i = 0; i < 300; ++i) {
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(1 + i % 30), i);
    auto answer = house.client->submit(chain_request("check", "tokens", std::span(tokens)));
    asked.emplace_back(std::move(tokens), std::move(answer));
  }
  for (auto& [tokens, answer] : asked) {
    ASSERT_EQ(answer.wait_for(kLongEnough), std::future_status::ready);
    const Reply reply = answer.get();
    EXPECT_EQ(state_in(reply), check_answer(tokens)) << reply.header.error.message;
  }
}

TEST(Server, AQueueKeepsToItsOwnBatchLimit) {
  ServeConfig config = loopback();
  config.device.queues = 2;
  config.batching.max_batch = 4;
  config.queue = {{}, {2}};
  const auto device = held_device();
  const House house(config, device);
  const std::vector<std::int32_t> tokens{1, 2, 3, 4, 5};
  std::vector<std::future<Reply>> answers;
  for (int i = 0; i < 20; ++i) answers.push_back(house.submit(tokens));
  house.wait_for_live(20);
  for (auto& answer : answers) {
    while (answer.wait_for(std::chrono::microseconds(200)) != std::future_status::ready) {
      for (const std::size_t queue : {0U, 1U}) device->run(queue, 100);
    }
    EXPECT_EQ(state_in(answer.get()), check_answer(tokens));
  }
  std::array<std::uint32_t, 2> most{};
  for (const FakeDevice::Ran& task : device->ran()) most[task.queue] = std::max(most[task.queue], task.rows);
  EXPECT_THAT(most, testing::ElementsAre(4U, 2U));
}

TEST(Server, ServesAModelWithoutOutputs) {
  const House house;
  const Reply reply = house.ask({1, 2}, "noop");
  ASSERT_TRUE(reply.status()) << reply.header.error.message;
  EXPECT_TRUE(reply.body.outputs.empty());
}

TEST(Server, TwoClientsMayUseTheSameNumbers) {
  const House house;
  const auto other = house.connect();
  const std::vector<std::int32_t> first{1}, second{2};
  auto a = house.client->submit(chain_request("check", "tokens", std::span(first)));
  auto b = other->submit(chain_request("check", "tokens", std::span(second)));
  EXPECT_EQ(state_in(a.get()), check_answer(first));
  EXPECT_EQ(state_in(b.get()), check_answer(second));
}

TEST(Server, RefusesWhatExceedsItsBoundsAtOnce) {
  ServeConfig config = loopback();
  config.limits.max_requests_in_flight = 4;
  config.limits.retry_after_ms = 7;
  const auto device = held_device();
  const House house(config, device);
  std::vector<std::future<Reply>> answers;
  const std::vector<std::int32_t> tokens{1, 2};
  for (int i = 0; i < 40; ++i) answers.push_back(house.submit(tokens));
  for (std::size_t i = 4; i < answers.size(); ++i) {
    const Reply reply = answers[i].get();
    EXPECT_EQ(code_of(reply), ErrorCode::kOverloaded);
    EXPECT_GE(reply.header.retry_after_us, 7000U);
    EXPECT_LE(reply.header.retry_after_us, 10'500U) << "each another moment, not much later";
  }
  const LetRun run(device);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(state_in(answers[i].get()), check_answer(tokens));
  EXPECT_TRUE(house.recovers());
}

TEST(Server, BoundsTheBytesOfBodies) {
  ServeConfig config = loopback();
  config.limits.max_request_mib_in_flight = 1;
  config.wire.max_body_bytes = 8U << 20;
  const House house(config);
  const std::vector<std::int32_t> tokens(
      400'000, 1);  // 1.6 MB; longer than the model allows, but that is not looked at
  EXPECT_EQ(code_of(house.ask(tokens)), ErrorCode::kOverloaded);
  EXPECT_TRUE(house.ask(std::vector<std::int32_t>{1}).status());
}

TEST(Server, ACancelledRequestIsAnsweredAndForgotten) {
  const auto device = held_device();
  const House house(loopback(), device);
  const std::vector<std::int32_t> tokens(100, 1);
  std::promise<Reply> promise;
  const auto id = house.client->submit(chain_request("check", "tokens", std::span(tokens)),
                                       [&](Reply&& reply) { promise.set_value(std::move(reply)); });
  ASSERT_TRUE(id);
  house.wait_for_live(1);
  house.client->cancel(*id);
  auto answer = promise.get_future();
  ASSERT_EQ(answer.wait_for(kLongEnough), std::future_status::ready);
  EXPECT_EQ(code_of(answer.get()), ErrorCode::kCancelled);
  const LetRun run(device);
  house.wait_for_live(0);
  EXPECT_LT(device->ran().size(), 100U);  // what had not been submitted never ran
}

TEST(Server, ADeadlineEndsARequest) {
  const House house(loopback(), held_device());
  const std::vector<std::int32_t> tokens(100, 1);
  ClientRequest request = chain_request("check", "tokens", std::span(tokens));
  request.header.deadline_us = 20'000;
  const auto start = std::chrono::steady_clock::now();
  const Reply reply = house.ask(request);
  EXPECT_EQ(code_of(reply), ErrorCode::kDeadlineExceeded);
  EXPECT_FALSE(reply.local);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::microseconds(20'000));
}

TEST(Server, ADeadlineThatHoldsChangesNothing) {
  const House house;
  const std::vector<std::int32_t> tokens{4, 5};
  ClientRequest request = chain_request("check", "tokens", std::span(tokens));
  request.header.deadline_us = 60'000'000;
  EXPECT_EQ(state_in(house.ask(request)), check_answer(tokens));
}

TEST(Server, AClientThatLeavesTakesItsRequestsWithIt) {
  const auto device = held_device();
  House house(loopback(), device);
  const std::vector<std::int32_t> tokens(2, 1);
  for (int i = 0; i < 50; ++i) {
    house.client->submit(chain_request("check", "tokens", std::span(tokens)), [](Reply&&) {});
  }
  house.wait_for_live(50);
  house.client.reset();
  const LetRun run(device);
  EXPECT_TRUE(house.server->drain(kLongEnough));
}

TEST(Server, ATakenAddressIsAClearError) {
  const House house;
  ServeConfig config = loopback();
  config.server.listen = house.server->endpoint();
  Monitor monitor("test");
  const auto second =
      Server::start(config, Devices{std::make_shared<TimedDevice>(TimedCost{})}, house.models, monitor);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace volvox
