// More parts in bundles than are read at a time: the others wait at the door, and nothing is lost by it.

#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "protocol/client/channel.h"
#include "tests/unit/actors/bundled_parts.h"

namespace volvox {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kAtOnce = 32;  // of which a client may always have three

ServeConfig narrow() {
  ServeConfig config = session_config();
  config.limits.max_parts_at_once = kAtOnce;
  return config;
}

Parts alone(std::uint32_t count) {
  Parts parts;
  for (std::uint32_t i = 0; i < count; ++i) parts.add(WireSessionToken{}, {static_cast<int>(i)});
  return parts;
}

void expect_alone(const std::shared_ptr<Answers>& answers, std::size_t count) {
  const std::vector<Reply> replies = answers->wait();
  ASSERT_EQ(replies.size(), count);
  for (std::size_t i = 0; i < count; ++i) expect_state(replies[i], {static_cast<int>(i)});
}

void expect_empty(const House& house) {
  wait_for_metric(house, "volvox_requests_in_flight", 0);
  wait_for_metric(house, "volvox_request_bytes_in_flight", 0);
  wait_for_metric(house, "volvox_waiting_parts", 0);
}

// A server that reads no more, for so many parts are under way.
struct FullHouse {
  explicit FullHouse(const ServeConfig& config = narrow())
      : device(held_device()), house(config, device), first(alone(kAtOnce).submit(*house.client)) {
    house.wait_for_live(static_cast<int>(kAtOnce));
  }

  // So many parts more, that wait then.
  std::shared_ptr<Answers> wait_in_line(std::uint32_t count) const {
    auto answers = alone(count).submit(*house.client);
    wait_for_metric(house, "volvox_waiting_parts", count);
    return answers;
  }

  std::shared_ptr<FakeDevice> device;
  House house;
  std::shared_ptr<Answers> first;
};

TEST(BundlesInTurn, FurtherPartsWaitAndAreAnsweredInTheEnd) {
  const FullHouse full;
  std::vector<std::shared_ptr<Answers>> later;
  for (int i = 0; i < 5; ++i) later.push_back(alone(20).submit(*full.house.client));
  wait_for_metric(full.house, "volvox_waiting_parts", 100);
  wait_for_metric(full.house, "volvox_requests_in_flight", kAtOnce + 100);
  EXPECT_EQ(metric(full.house, "volvox_bundled_parts_total"), kAtOnce) << "nobody looks into the others";
  const LetRun run(full.device);
  expect_alone(full.first, kAtOnce);
  for (const auto& answers : later) expect_alone(answers, 20);
  expect_empty(full.house);
  EXPECT_EQ(metric(full.house, "volvox_requests_total{outcome=\"ok\"}"), kAtOnce + 100);
}

TEST(BundlesInTurn, UnderAHighBoundNothingWaits) {
  ServeConfig config = narrow();
  config.limits.max_parts_at_once = 1U << 20;
  const FullHouse full(config);
  const auto later = alone(100).submit(*full.house.client);
  full.house.wait_for_live(static_cast<int>(kAtOnce) + 100);
  const LetRun run(full.device);
  expect_alone(full.first, kAtOnce);
  expect_alone(later, 100);
}

TEST(BundlesInTurn, AnotherClientIsNotKeptOut) {
  const FullHouse full;
  const auto later = full.wait_in_line(200);
  const auto other = full.house.connect();
  const auto answers = alone(3).submit(*other);
  full.house.wait_for_live(static_cast<int>(kAtOnce) + 3);
  const LetRun run(full.device);
  expect_alone(answers, 3);
  expect_alone(full.first, kAtOnce);
  expect_alone(later, 200);
}

TEST(BundlesInTurn, RequestsThatStandAloneDoNotWait) {
  const FullHouse full;
  const auto later = full.wait_in_line(10);
  auto answer = full.house.submit({1, 2});
  full.house.wait_for_live(static_cast<int>(kAtOnce) + 1);
  EXPECT_EQ(metric(full.house, "volvox_waiting_parts"), 10);
  const LetRun run(full.device);
  EXPECT_EQ(state_in(answer.get()), check_answer({1, 2}));
  expect_alone(later, 10);
}

// Only bundles begin to wait; but no part passes them.
TEST(BundlesInTurn, APartOfASessionDoesNotPassABundleOfItsClient) {
  const FullHouse full;
  Parts parts;
  const auto answers = parts.add(SessionStream::begin(), {1}).submit(*full.house.client);
  wait_for_metric(full.house, "volvox_waiting_parts", 1);
  CheckStream lone(full.house);
  const Tokens tokens{9};
  auto answer = lone.submit(tokens);
  wait_for_metric(full.house, "volvox_waiting_parts", 2);
  const LetRun run(full.device);
  expect_state(answers->wait()[0], {1});
  EXPECT_EQ(state_in(lone.take(std::move(answer), tokens)), check_answer(tokens));
  expect_empty(full.house);
}

TEST(BundlesInTurn, WhatHasADeadlineTakesItsClientsPartsAlong) {
  const FullHouse full;
  const auto later = full.wait_in_line(10);
  Parts urgent = alone(2);
  urgent.bundle.header.deadline_us = 60'000'000;
  const auto answers = urgent.submit(*full.house.client);
  full.house.wait_for_live(static_cast<int>(kAtOnce) + 12);
  wait_for_metric(full.house, "volvox_waiting_parts", 0);
  const LetRun run(full.device);
  expect_alone(answers, 2);
  expect_alone(later, 10);
  expect_alone(full.first, kAtOnce);
}

TEST(BundlesInTurn, WhatHasPriorityDoesNotWait) {
  const FullHouse full;
  Parts urgent = alone(5);
  urgent.bundle.header.priority = WirePriority::kHigh;
  const auto answers = urgent.submit(*full.house.client);
  full.house.wait_for_live(static_cast<int>(kAtOnce) + 5);
  const LetRun run(full.device);
  expect_alone(answers, 5);
}

TEST(BundlesInTurn, AModelsDeadlineIsOneToo) {
  ServeConfig config = narrow();
  config.model.push_back({});
  config.model.back().name = "every";
  config.model.back().default_deadline_ms = 60'000;
  const FullHouse full(config);
  Parts urgent("every");
  urgent.add(WireSessionToken{}, {1});
  const auto answers = urgent.submit(*full.house.client);
  full.house.wait_for_live(static_cast<int>(kAtOnce) + 1);
  const LetRun run(full.device);
  EXPECT_TRUE(answers->wait()[0].status());
}

TEST(BundlesInTurn, PastTheBoundsOfWhatIsInFlightABundleIsRefusedAsAWhole) {
  ServeConfig config = narrow();
  config.limits.max_requests_per_client = kAtOnce + 10;
  const FullHouse full(config);
  const auto later = full.wait_in_line(8);
  for (const Reply& reply : alone(3).ask(full.house)) {
    EXPECT_EQ(code_of(reply), ErrorCode::kOverloaded);
    EXPECT_THAT(reply.header.error.message, HasSubstr("limits.max_requests_per_client"));
  }
  EXPECT_EQ(metric(full.house, "volvox_bundles_total{outcome=\"refused\"}"), 1);
  const auto fits = alone(2).submit(*full.house.client);
  wait_for_metric(full.house, "volvox_waiting_parts", 10);
  const LetRun run(full.device);
  expect_alone(later, 8);
  expect_alone(fits, 2);
  expect_empty(full.house);
}

// Its places would be taken from others for a few bytes.
TEST(BundlesInTurn, AHeaderThatSpeaksOfManyPartsHoldsNoPlaces) {
  const FullHouse full;
  ChannelOptions options;
  options.endpoint = full.house.server->endpoint();
  auto channel = Channel::connect(options);
  ASSERT_TRUE(channel);
  std::vector<ErrorCode> codes;
  (*channel)->on_bundle([&](BundleReply&& reply) {
    for (const PartError& error : reply.body.errors) codes.push_back(error.error.code);
  });
  RequestHeader header;
  header.model = "check";
  header.parts = 4'000;
  ASSERT_TRUE((*channel)->send_bundle(header, WireBuffer::copy_of(std::vector<std::byte>(64))));
  while ((*channel)->in_flight() > 0) (*channel)->poll(std::chrono::seconds(1), [](Reply&&) {});
  EXPECT_EQ(codes, std::vector<ErrorCode>(header.parts, ErrorCode::kInvalidArgument));
  const LetRun run(full.device);
}

TEST(BundlesInTurn, WhatMakesNoSenseIsRefusedWhenItsTurnComes) {
  const FullHouse full;
  Parts unknown("nobody");
  const auto answers = unknown.add(WireSessionToken{}, {1}).submit(*full.house.client);
  wait_for_metric(full.house, "volvox_waiting_parts", 1);
  const LetRun run(full.device);
  EXPECT_EQ(code_of(answers->wait()[0]), ErrorCode::kModelNotFound);
  expect_empty(full.house);
}

TEST(BundlesInTurn, WhatWaitsCanBeCancelled) {
  const FullHouse full;
  Parts parts = alone(10);
  const auto later = parts.submit(*full.house.client);
  wait_for_metric(full.house, "volvox_waiting_parts", 10);
  full.house.client->cancel(parts.first_id);
  wait_for_metric(full.house, "volvox_requests_total{outcome=\"cancelled\"}", 10);
  for (const Reply& reply : later->wait()) EXPECT_EQ(code_of(reply), ErrorCode::kCancelled);
  const LetRun run(full.device);
  expect_alone(full.first, kAtOnce);
  expect_empty(full.house);
}

// Its pings are heard meanwhile, and count after it.
TEST(BundlesInTurn, AClientWhosePartsWaitIsNotSilent) {
  ServeConfig config = narrow();
  config.limits.silent_client_ms = 1000;
  const FullHouse full(config);
  const auto other = full.house.connect();
  const auto begun = alone(3).submit(*other);  // all that it may always have
  full.house.wait_for_live(static_cast<int>(kAtOnce) + 3);
  const auto bundled = alone(4).submit(*other);
  wait_for_metric(full.house, "volvox_waiting_parts", 4);
  const Tokens tokens{5};
  ClientRequest lone = chain_request("check", "tokens", std::span(tokens));
  SessionStream::begin().stamp(lone, false);
  auto answer = other->submit(lone);
  wait_for_metric(full.house, "volvox_waiting_parts", 5);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  const LetRun run(full.device);
  expect_alone(begun, 3);
  expect_alone(bundled, 4);
  EXPECT_EQ(state_in(answer.get()), check_answer(tokens));
  EXPECT_EQ(metric(full.house, "volvox_requests_total{outcome=\"cancelled\"}"), 0);
}

TEST(BundlesInTurn, NothingIsLeftOfAClientThatVanishes) {
  ServeConfig config = narrow();
  config.limits.silent_client_ms = 1000;
  const FullHouse full(config);
  {
    ChannelOptions options;
    options.endpoint = full.house.server->endpoint();
    auto channel = Channel::connect(options);
    ASSERT_TRUE(channel);
    for (const std::uint32_t count : {3U, 50U}) {
      Parts parts = alone(count);
      parts.bundle.inputs = {wire_tensor("tokens", std::span(std::as_const(parts.tokens)))};
      ASSERT_TRUE((*channel)->send(parts.bundle));
    }
    wait_for_metric(full.house, "volvox_waiting_parts", 50);
  }
  wait_for_metric(full.house, "volvox_requests_total{outcome=\"cancelled\"}", 53);
  const LetRun run(full.device);
  expect_alone(full.first, kAtOnce);
  expect_empty(full.house);
}

// What has begun ends; what nobody has looked into is told at once to go elsewhere.
TEST(BundlesInTurn, AServerThatDrainsRefusesWhatWaits) {
  const FullHouse full;
  const auto later = full.wait_in_line(10);
  auto drained = std::async(std::launch::async, [&] { return full.house.server->drain(kLongEnough); });
  const auto expect_refused = [](const std::shared_ptr<Answers>& answers) {
    for (const Reply& reply : answers->wait()) {
      EXPECT_EQ(code_of(reply), ErrorCode::kUnavailable);
      EXPECT_FALSE(reply.local);
    }
  };
  expect_refused(later);
  expect_refused(alone(5).submit(*full.house.client));
  const LetRun run(full.device);
  expect_alone(full.first, kAtOnce);
  EXPECT_TRUE(drained.get());
}

TEST(BundlesInTurn, AServerThatStopsAnswersWhatWaits) {
  const FullHouse full;
  const auto later = full.wait_in_line(10);
  EXPECT_FALSE(full.house.server->drain(std::chrono::milliseconds(20)));
  for (const auto& answers : {full.first, later}) {
    for (const Reply& reply : answers->wait()) {
      EXPECT_EQ(code_of(reply), ErrorCode::kUnavailable);
      EXPECT_FALSE(reply.local);
    }
  }
}

}  // namespace
}  // namespace volvox
