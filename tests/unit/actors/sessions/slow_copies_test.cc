// A device may take as long as it likes to copy a session's state: only whoever needs the state waits.

#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/fake_device.h"
#include "tests/unit/actors/session_house.h"

namespace volvox {
namespace {

void wait_for_copy(const FakeDevice& device) {
  const auto until = std::chrono::steady_clock::now() + kLongEnough;
  while (device.waiting_for_slots() == 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), until) << "nobody copies a state";
    std::this_thread::yield();
  }
}

TEST(SlowCopies, OthersGoOnWhileAStateIsSpilledAndWhileItReturns) {
  const auto device = std::make_shared<FakeDevice>();
  const House house(session_config(1), device);
  const Tokens alone{5, 6}, begin{3, 4}, more{7};
  CheckStream first(house), second(house);
  first.check({1, 2});

  device->hold_slots(true);
  auto begun = second.submit(begin);  // needs the only place
  ASSERT_NO_FATAL_FAILURE(wait_for_copy(*device));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(state_in(house.ask(alone)), check_answer(alone));
  device->hold_slots(false);
  const Reply in_place = second.take(std::move(begun), begin);
  EXPECT_EQ(state_in(in_place), second.expected());
  second.end();

  device->hold_slots(true);
  auto returned = first.submit(more);  // the place is free
  ASSERT_NO_FATAL_FAILURE(wait_for_copy(*device));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(state_in(house.ask(alone)), check_answer(alone));
  device->hold_slots(false);
  const Reply back = first.take(std::move(returned), more);
  EXPECT_EQ(state_in(back), first.expected());
  EXPECT_EQ(metric(house, "volvox_session_restores_total"), 1);
  first.end();
  EXPECT_EQ(metric(house, "volvox_session_host_bytes"), 0);
  EXPECT_TRUE(device->errors().empty());
}

// The session on its way is lost, whoever waits is told, and so is whoever asks whether the server is well.
TEST(SlowCopies, OneThatHangsIsGivenUp) {
  ServeConfig config = session_config(1);
  config.device.task_timeout_ms = 50;
  const auto device = std::make_shared<FakeDevice>();
  const House house(config, device);
  CheckStream first(house), second(house), third(house);
  first.check({1, 2});

  device->hold_slots(true);
  EXPECT_EQ(code_of(second.send({3, 4})), ErrorCode::kUnavailable) << "its place was not free in time";
  EXPECT_EQ(house.monitor.readiness_page().status, 503);
  EXPECT_THAT(house.monitor.readiness_page().body, testing::HasSubstr("a copy of a session's state"));
  EXPECT_EQ(code_of(house.ask(Tokens{5})), ErrorCode::kUnavailable);

  device->hold_slots(false);
  const auto until = std::chrono::steady_clock::now() + kLongEnough;
  while (house.monitor.readiness_page().status != 200) {
    ASSERT_LT(std::chrono::steady_clock::now(), until) << house.monitor.readiness_page().body;
    std::this_thread::yield();
  }
  EXPECT_EQ(code_of(first.send({6})), ErrorCode::kSessionLost);
  second.check({3, 4});
  second.end();
  third.check({7});
  third.end();
  EXPECT_EQ(metric(house, "volvox_session_host_bytes"), 0);
  EXPECT_TRUE(device->errors().empty());
}

TEST(SlowCopies, AManagerThatFailsMeanwhileIsReplacedAtOnce) {
  FaultHooks faults;
  faults.manager = [](const IncomingRequest& request) {
    if (request.header.trace_hi == kPoison) throw std::runtime_error("poisoned");
  };
  const auto device = std::make_shared<FakeDevice>();
  const House house(session_config(1), device, faults);
  CheckStream first(house), second(house), third(house);
  first.check({1, 2});

  device->hold_slots(true);
  auto begun = second.submit({3, 4});  // needs the only place
  ASSERT_NO_FATAL_FAILURE(wait_for_copy(*device));
  const Tokens hurt{9};
  EXPECT_EQ(code_of(house.ask(poisoned(hurt))), ErrorCode::kInternal);
  EXPECT_FALSE(second.take(std::move(begun), {3, 4}).status()) << "its session ended with the manager";
  EXPECT_TRUE(house.recovers()) << "the copy hangs still";
  device->hold_slots(false);
  const auto until = std::chrono::steady_clock::now() + kLongEnough;
  while (!third.send({7}).status())
    ASSERT_LT(std::chrono::steady_clock::now(), until) << "the place is not given back";
  EXPECT_TRUE(device->errors().empty());
}

TEST(SlowCopies, AServerEndsWhenACopyHas) {
  const auto device = std::make_shared<FakeDevice>();
  const House house(session_config(1), device);
  CheckStream first(house), second(house);
  first.check({1, 2});
  device->hold_slots(true);
  auto begun = second.submit({3});
  ASSERT_NO_FATAL_FAILURE(wait_for_copy(*device));
  device->hold_slots(false);
}

}  // namespace
}  // namespace volvox
