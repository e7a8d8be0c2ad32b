#include <gmock/gmock.h>

#include "tests/unit/actors/house.h"

namespace volvox {
namespace {

const std::vector<std::int32_t> kSome(5, 3);

std::future<bool> start_drain(const House& house, Duration timeout) {
  auto drained = std::async(std::launch::async, [&house, timeout] { return house.server->drain(timeout); });
  while (house.monitor.readiness_page().status == 200) std::this_thread::yield();
  return drained;
}

TEST(Drain, RequestsInFlightEndAndNewOnesAreRefused) {
  const auto device = held_device();
  const House house(loopback(), device);
  EXPECT_EQ(house.monitor.readiness_page().status, 200);
  auto before = house.submit(kSome);
  house.wait_for_live(1);
  auto drained = start_drain(house, kLongEnough);
  EXPECT_EQ(house.monitor.readiness_page().body, "draining\n");
  EXPECT_EQ(code_of(house.ask(kSome)), ErrorCode::kUnavailable);
  const LetRun run(device);
  EXPECT_TRUE(drained.get());
  EXPECT_EQ(state_in(before.get()), check_answer(kSome));
}

TEST(Drain, WhatTakesTooLongIsAnsweredUnavailable) {
  const auto device = held_device();
  const House house(loopback(), device);
  std::vector<std::future<Reply>> answers;
  for (int i = 0; i < 10; ++i) answers.push_back(house.submit(kSome));
  house.wait_for_live(10);
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
