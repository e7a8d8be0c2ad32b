#include <gmock/gmock.h>

#include "tests/unit/actors/house.h"

namespace volvox {
namespace {

const std::vector<std::int32_t> kTokens(5, 3);

std::future<Reply> submit(const House& house) {
  return house.client->submit(chain_request("check", "tokens", std::span(kTokens)));
}

// Until the server has so many requests.
void wait_for_requests(const House& house, int requests) {
  const std::string wanted = "volvox_live_requests{device=\"timed\"} " + std::to_string(requests) + "\n";
  const auto until = std::chrono::steady_clock::now() + kLongEnough;
  while (house.monitor.metrics_page().body.find(wanted) == std::string::npos) {
    ASSERT_LT(std::chrono::steady_clock::now(), until);
  }
}

TEST(Drain, RequestsInFlightEndAndNewOnesAreRefused) {
  const House house(loopback(), {20'000, 0});
  EXPECT_EQ(house.monitor.readiness_page().status, 200);
  auto before = submit(house);
  wait_for_requests(house, 1);
  auto drained = std::async(std::launch::async, [&] { return house.server->drain(kLongEnough); });
  while (house.monitor.readiness_page().status == 200) std::this_thread::yield();
  EXPECT_EQ(house.monitor.readiness_page().body, "draining\n");
  EXPECT_TRUE(drained.get());
  EXPECT_EQ(state_in(before.get()), check_answer(kTokens));
}

TEST(Drain, NewRequestsAreToldToGoElsewhere) {
  const House house(loopback(), {50'000, 0});
  auto before = submit(house);
  wait_for_requests(house, 1);
  auto drained = std::async(std::launch::async, [&] { return house.server->drain(kLongEnough); });
  while (house.monitor.readiness_page().status == 200) std::this_thread::yield();
  // Readiness goes a moment before the gateway refuses: until one is refused, requests are accepted and
  // answered.
  ErrorCode code{};
  for (int i = 0; i < 1000 && code == ErrorCode{}; ++i) {
    ClientRequest request = chain_request("check", "tokens", std::span(kTokens));
    request.timeout = std::chrono::seconds(1);  // the server may have gone
    code = code_of(house.ask(request));
  }
  EXPECT_TRUE(drained.get());
  EXPECT_TRUE(code == ErrorCode::kUnavailable || code == ErrorCode::kDeadlineExceeded) << to_string(code);
  EXPECT_EQ(state_in(before.get()), check_answer(kTokens));
}

TEST(Drain, WhatTakesTooLongIsAnsweredUnavailable) {
  const House house(loopback(), {500'000, 0});
  std::vector<std::future<Reply>> answers;
  for (int i = 0; i < 10; ++i) answers.push_back(submit(house));
  wait_for_requests(house, 10);
  EXPECT_FALSE(house.server->drain(std::chrono::milliseconds(20)));
  for (auto& answer : answers) {
    const Reply reply = answer.get();
    EXPECT_EQ(code_of(reply), ErrorCode::kUnavailable) << reply.header.error.message;
    EXPECT_FALSE(reply.local);
  }
}

TEST(Drain, AnIdleServerDrainsAtOnceAndTwice) {
  const House house;
  EXPECT_TRUE(house.server->drain(std::chrono::milliseconds(0)));
  EXPECT_TRUE(house.server->drain(std::chrono::milliseconds(0)));
}

}  // namespace
}  // namespace volvox
