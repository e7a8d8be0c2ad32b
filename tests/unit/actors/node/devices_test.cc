// One process, several devices: what runs where, and what happens when one of them fails.

#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "device/fake_device.h"
#include "tests/unit/actors/session_house.h"

namespace volvox {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// Its tasks are dear, so that a long request is worth moving away from.
std::shared_ptr<FakeDevice> dear_device(bool held = false) {
  FakeDevice::Options options;
  options.config.costs = {{1, 1e5}};
  options.run_when_waited_for = !held;
  return std::make_shared<FakeDevice>(options);
}

std::string on_device(const char* metric, int device) {
  return std::string(metric) + "{device=\"fake:" + std::to_string(device) + "\"}";
}
constexpr const char* kLive = "volvox_live_requests";

// Throws under the first poisoned request that it sees.
FaultHooks one_scheduler_fails() {
  FaultHooks faults;
  faults.scheduler = [armed = std::make_shared<std::atomic<bool>>(true)](const IncomingRequest& request) {
    if (request.header.trace_hi == kPoison && armed->exchange(false)) throw std::runtime_error("poisoned");
  };
  return faults;
}

TEST(Devices, ARequestGoesWhereTheLeastIsToDo) {
  const auto a = dear_device(true), b = dear_device(true);
  const House house(Devices{a, b}, loopback());
  const Tokens brief{1, 2}, longer{1, 2, 3, 4, 5};
  auto first = house.submit(longer);
  wait_for_metric(house, on_device(kLive, 0), 1);
  auto second = house.submit(brief);
  wait_for_metric(house, on_device(kLive, 1), 1);
  auto third = house.submit(brief);
  wait_for_metric(house, on_device(kLive, 1), 2);
  auto fourth = house.submit(brief);
  wait_for_metric(house, on_device(kLive, 1), 3);
  auto fifth = house.submit(brief);
  wait_for_metric(house, on_device(kLive, 0), 2);
  const LetRun run_a(a), run_b(b);
  EXPECT_EQ(state_in(first.get()), check_answer(longer));
  for (auto* answer : {&second, &third, &fourth, &fifth})
    EXPECT_EQ(state_in(answer->get()), check_answer(brief));
  EXPECT_THAT(a->errors(), IsEmpty());
  EXPECT_THAT(b->errors(), IsEmpty());
}

TEST(Devices, ACancelReachesTheDeviceWhereTheRequestIs) {
  const auto a = dear_device(true), b = dear_device(true);
  const House house(Devices{a, b}, loopback());
  const Tokens tokens(50, 3);
  auto first = house.submit(tokens);
  wait_for_metric(house, on_device(kLive, 0), 1);
  std::promise<Reply> ended;
  const auto second = house.client->submit(chain_request("check", "tokens", std::span(tokens)),
                                           [&](Reply&& reply) { ended.set_value(std::move(reply)); });
  ASSERT_TRUE(second);
  wait_for_metric(house, on_device(kLive, 1), 1);
  house.client->cancel(*second);
  EXPECT_EQ(code_of(ended.get_future().get()), ErrorCode::kCancelled);
  const LetRun run_a(a), run_b(b);
  EXPECT_EQ(state_in(first.get()), check_answer(tokens));
  wait_for_metric(house, on_device(kLive, 1), 0);
  EXPECT_LT(b->ran().size(), 50U);
}

TEST(Devices, ARequestUnderWhichOneFailsIsRunOnAnother) {
  const auto a = dear_device(), b = dear_device();
  const House house(Devices{a, b}, loopback());
  a->fail_task(0, 3);
  const Tokens tokens{1, 2, 3, 4};
  EXPECT_EQ(state_in(house.ask(tokens)), check_answer(tokens));
  EXPECT_EQ(a->ran().size(), 2U);
  EXPECT_EQ(b->ran().size(), 4U);
  EXPECT_EQ(metric(house, "volvox_reruns_total"), 1);
  EXPECT_EQ(state_in(house.ask(tokens)), check_answer(tokens)) << "the first one goes on with a fresh queue";
  EXPECT_EQ(a->ran().size(), 6U);
  EXPECT_THAT(a->errors(), IsEmpty());
}

// No scheduler had it when all were told to stop it.
TEST(Devices, WhatWasGivenUpIsNotRunAgain) {
  const auto a = dear_device(), b = dear_device();
  FaultHooks faults;
  faults.scheduler = [armed = std::make_shared<std::atomic<bool>>(true)](const IncomingRequest& request) {
    if (request.header.trace_hi != kPoison || !armed->exchange(false)) return;
    request.end.give_up(ErrorCode::kCancelled);
    throw std::runtime_error("poisoned");
  };
  const House house(Devices{a, b}, loopback(), faults);
  const Tokens tokens{1, 2, 3};
  EXPECT_EQ(code_of(house.ask(poisoned(tokens))), ErrorCode::kCancelled);
  EXPECT_THAT(b->ran(), IsEmpty());
  EXPECT_EQ(metric(house, "volvox_reruns_total"), 0);
}

TEST(Devices, ARequestIsRunTwiceAtMost) {
  const auto a = dear_device(), b = dear_device(), c = dear_device();
  const House house(Devices{a, b, c}, loopback());
  a->fail_task(0, 1);
  b->fail_task(0, 1);
  const Reply reply = house.ask({1, 2});
  EXPECT_EQ(code_of(reply), ErrorCode::kInternal);
  EXPECT_THAT(reply.header.error.message, HasSubstr("the device failed: "));
  EXPECT_THAT(c->ran(), IsEmpty());
}

TEST(Devices, AnAnswerThatIsPartlySentIsNotBegunAnew) {
  const auto a = dear_device(true), b = dear_device();
  const House house(Devices{a, b}, loopback());
  a->fail_task(0, 3);
  const Tokens tokens{1, 2, 3, 4};
  ClientRequest request = chain_request("every", "tokens", std::span(tokens));
  request.header.stream = true;
  std::atomic<int> parts{0};
  std::promise<Reply> ended;
  const auto sent = house.client->submit(request, [&](Reply&& reply) {
    reply.header.final ? ended.set_value(std::move(reply)) : void(++parts);
  });
  ASSERT_TRUE(sent);
  for (std::size_t ran = 0; ran < 2;) ran += a->run(0);
  while (parts < 2) std::this_thread::yield();
  auto end = ended.get_future();
  while (end.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) a->run(0);
  EXPECT_EQ(code_of(end.get()), ErrorCode::kInternal);
  EXPECT_EQ(parts, 2);
  EXPECT_THAT(b->ran(), IsEmpty());
}

TEST(Devices, ASchedulerThatFailsLosesNoRequest) {
  const House house(Devices{dear_device(), dear_device()}, loopback(), one_scheduler_fails());
  const Tokens tokens{1, 2, 3, 4};
  std::vector<std::future<Reply>> answers;
  for (int i = 0; i < 200; ++i) {
    if (i == 100) answers.push_back(house.client->submit(poisoned(tokens)));
    answers.push_back(house.submit(tokens));
  }
  for (auto& answer : answers) {
    ASSERT_EQ(answer.wait_for(kLongEnough), std::future_status::ready);
    EXPECT_EQ(state_in(answer.get()), check_answer(tokens));
  }
  wait_for_metric(house, "volvox_actor_restarts_total", 1);
  EXPECT_EQ(house.client->stats().duplicates, 0U);
}

TEST(Devices, SessionsAreSpreadAndComeBackToEitherDevice) {
  std::mt19937_64 random(7);
  const House house(Devices{dear_device(), dear_device()}, session_config(4));
  std::vector<CheckStream> streams(40, CheckStream(house));
  for (int round = 0; round < 6; ++round) ASSERT_NO_FATAL_FAILURE(check_round(streams, random));
  EXPECT_GT(metric(house, "volvox_session_restores_total"), 0);
  EXPECT_LE(metric(house, "volvox_session_states{where=\"device\"}"), 4);
  for (const int device : {0, 1}) EXPECT_GT(metric(house, on_device("volvox_cells_total", device)), 100);
  for (CheckStream& stream : streams) stream.end();
  EXPECT_EQ(metric(house, "volvox_sessions{state=\"live\"}"), 0);
}

TEST(Devices, ASessionMovesAwayFromMuchWorkAndTakesItsStateAlong) {
  const auto a = dear_device(true), b = dear_device();
  const House house(Devices{a, b}, session_config());
  CheckStream stream(house);
  {
    const LetRun run_a(a);
    stream.check({1, 2, 3});
  }
  ASSERT_EQ(a->ran().size(), 3U);
  const Tokens tokens(50, 4);
  auto busy = house.submit(tokens);
  wait_for_metric(house, on_device(kLive, 0), 1);
  stream.check({4, 5});
  EXPECT_EQ(metric(house, "volvox_session_moves_total"), 1);
  EXPECT_EQ(b->ran().size(), 2U);
  stream.check({6});
  EXPECT_EQ(metric(house, "volvox_session_moves_total"), 1) << "there it stays";
  const LetRun run_a(a);
  EXPECT_EQ(state_in(busy.get()), check_answer(tokens));
  stream.check({7}, true);
  EXPECT_THAT(a->errors(), IsEmpty());
  EXPECT_THAT(b->errors(), IsEmpty());
}

// As one that hangs, until it goes on.
TEST(Devices, OthersGoOnWhileASessionMoves) {
  const auto a = dear_device(true), b = dear_device();
  const House house(Devices{a, b}, session_config());
  CheckStream stream(house);
  {
    const LetRun run_a(a);
    stream.check({1, 2, 3});
  }
  const Tokens tokens(50, 4), part{4, 5}, alone{8};
  auto busy = house.submit(tokens);
  wait_for_metric(house, on_device(kLive, 0), 1);
  a->hold_slots(true);
  std::promise<Reply> given_up;
  const auto sent =
      house.client->submit(stream.part(part), [&](Reply&& r) { given_up.set_value(std::move(r)); });
  ASSERT_TRUE(sent);
  for (const auto until = std::chrono::steady_clock::now() + kLongEnough; a->waiting_for_slots() == 0;) {
    ASSERT_LT(std::chrono::steady_clock::now(), until) << "the state stays where it is";
    std::this_thread::yield();
  }
  EXPECT_EQ(state_in(house.ask(alone)), check_answer(alone)) << "on the other device";
  house.client->cancel(*sent);
  EXPECT_EQ(code_of(given_up.get_future().get()), ErrorCode::kCancelled);
  a->hold_slots(false);
  stream.check(part);
  EXPECT_EQ(metric(house, "volvox_session_moves_total"), 1);
  const LetRun run_a(a);
  EXPECT_EQ(state_in(busy.get()), check_answer(tokens));
  stream.check({7}, true);
}

// A place on each of the two: who stood in line for that of the one that hangs must not wait for it.
TEST(Devices, WhileACopyOffOneHangsSessionsTakeTurnsOnTheOther) {
  ServeConfig config = session_config(2);
  config.device.task_timeout_ms = 50;
  const auto a = dear_device(), b = dear_device();
  const House house(Devices{a, b}, config);
  CheckStream first(house), second(house), third(house);
  first.check({1, 2});
  second.check({3});
  ASSERT_EQ(b->ran().size(), 1U);
  a->hold_slots(true);
  for (int round = 0; round < 3; ++round) {
    third.check({4});
    second.check({5, 6});
  }
  EXPECT_EQ(b->ran().size(), 10U);
  EXPECT_EQ(house.monitor.readiness_page().status, 200);
  EXPECT_THAT(house.monitor.readiness_page().body, HasSubstr("fake:0: the device hangs"));
  EXPECT_EQ(code_of(first.send({7})), ErrorCode::kSessionLost);
  a->hold_slots(false);
  for (const auto until = std::chrono::steady_clock::now() + kLongEnough;
       house.monitor.readiness_page().body != "ready\n";) {
    ASSERT_LT(std::chrono::steady_clock::now(), until) << house.monitor.readiness_page().body;
    std::this_thread::yield();
  }
  for (CheckStream* stream : {&second, &third}) stream->check({8}, true);
  EXPECT_EQ(metric(house, "volvox_session_host_bytes"), 0);
  EXPECT_THAT(a->errors(), IsEmpty());
  EXPECT_THAT(b->errors(), IsEmpty());
}

TEST(Devices, OnlyTheSessionsOfALostDeviceAreLost) {
  const auto a = dear_device(true), b = dear_device();
  const House house(Devices{a, b}, session_config(), one_scheduler_fails());
  CheckStream here(house), there(house);
  {
    const LetRun run_a(a);
    here.check({1, 2, 3});
  }
  const Tokens tokens(50, 4);
  auto busy = house.submit(tokens);
  wait_for_metric(house, on_device(kLive, 0), 1);
  there.check({5});
  ASSERT_EQ(b->ran().size(), 1U);
  auto victim = house.client->submit(poisoned(tokens));
  wait_for_metric(house, on_device(kLive, 0), 2);
  wait_for_metric(house, "volvox_actor_restarts_total", 1);
  EXPECT_EQ(code_of(there.send({6})), ErrorCode::kSessionLost);
  const LetRun run_a(a);
  EXPECT_EQ(state_in(busy.get()), check_answer(tokens));
  EXPECT_EQ(state_in(victim.get()), check_answer(tokens));
  here.check({4}, true);
  CheckStream fresh(house);
  fresh.check({8}, true);
}

// The queue's only task runs until the test lets it end.
TEST(Devices, OneThatHangsIsPassedBy) {
  const auto a = dear_device(true), b = dear_device();
  ServeConfig config = loopback();
  config.device.task_timeout_ms = 50;
  const House house(Devices{a, b}, config);
  const Tokens tokens{1, 2, 3};
  EXPECT_EQ(code_of(house.ask(tokens)), ErrorCode::kInternal) << "its task may still write its results";
  wait_for_metric(house, on_device("volvox_device_up", 0), 0);
  EXPECT_EQ(metric(house, on_device("volvox_device_up", 1)), 1);
  EXPECT_EQ(house.monitor.readiness_page().status, 200);
  EXPECT_THAT(house.monitor.readiness_page().body, HasSubstr("fake:0: 1 of 1 queues of the device hang"));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(state_in(house.ask(tokens)), check_answer(tokens));
  EXPECT_THAT(a->ran(), IsEmpty());
  const LetRun run_a(a);
  wait_for_metric(house, on_device("volvox_device_up", 0), 1);
}

ServeConfig one_at_a_time() {
  ServeConfig config = loopback();
  config.batching.max_batch = config.batching.max_tasks_to_submit = 1;
  config.device.task_timeout_ms = 50;
  return config;
}

TEST(Devices, WhatWaitsForOneThatHangsGoesToAnother) {
  const auto a = dear_device(true), b = dear_device();
  const House house(Devices{a, b}, one_at_a_time());
  const Tokens tokens{1, 2, 3};
  std::vector<std::future<Reply>> answers;
  for (int i = 0; i < 10; ++i) answers.push_back(house.submit(tokens));
  int lost = 0;
  for (auto& answer : answers) {
    const Reply reply = answer.get();
    if (!reply.status()) {
      EXPECT_EQ(code_of(reply), ErrorCode::kInternal) << reply.header.error.message;
      ++lost;
    } else {
      EXPECT_EQ(state_in(reply), check_answer(tokens));
    }
  }
  EXPECT_EQ(lost, 1) << "it was in the task that hangs";
  EXPECT_GT(metric(house, "volvox_reruns_total"), 0);
  const LetRun run_a(a);
  wait_for_metric(house, on_device("volvox_device_up", 0), 1);
  EXPECT_THAT(a->errors(), IsEmpty());
  EXPECT_THAT(b->errors(), IsEmpty());
}

TEST(Devices, WhatWaitsForTheOnlyOneIsToldThatItHangs) {
  const auto a = dear_device(true);
  const House house(Devices{a}, one_at_a_time());
  const Tokens tokens{1, 2, 3};
  std::vector<std::future<Reply>> answers;
  for (int i = 0; i < 10; ++i) answers.push_back(house.submit(tokens));
  std::map<ErrorCode, int> ends;
  for (auto& answer : answers) ++ends[code_of(answer.get())];
  EXPECT_EQ(ends[ErrorCode::kInternal], 1) << "it was in the task that hangs";
  EXPECT_EQ(ends[ErrorCode::kUnavailable], 9) << "they can be sent elsewhere";
  const LetRun run_a(a);
  wait_for_metric(house, "volvox_device_up{device=\"fake\"}", 1);
  EXPECT_EQ(state_in(house.ask(tokens)), check_answer(tokens));
  EXPECT_THAT(a->errors(), IsEmpty());
}

TEST(Devices, SessionsLeaveOneThatHangs) {
  const auto a = dear_device(true), b = dear_device();
  ServeConfig config = session_config(4);
  config.device.task_timeout_ms = 50;
  const House house(Devices{a, b}, config);
  std::vector<CheckStream> streams(2, CheckStream(house));
  {
    const LetRun run_a(a);
    for (CheckStream& stream : streams) stream.check({1, 2});
  }
  EXPECT_EQ(b->ran().size(), 0U);
  EXPECT_EQ(code_of(house.ask({1, 2, 3})), ErrorCode::kInternal);
  wait_for_metric(house, on_device("volvox_device_up", 0), 0);
  for (CheckStream& stream : streams) stream.check({3});
  EXPECT_EQ(metric(house, "volvox_session_moves_total"), 2);
  // More than the other one has room for: they take turns there.
  while (streams.size() < 6) streams.emplace_back(house);
  for (int round = 0; round < 3; ++round) {
    for (CheckStream& stream : streams) stream.check({round, 7});
  }
  EXPECT_LE(metric(house, "volvox_session_states{where=\"device\"}"), 2);
  EXPECT_GT(metric(house, "volvox_session_restores_total"), 0);
  const LetRun run_a(a);
  wait_for_metric(house, on_device("volvox_device_up", 0), 1);
  for (CheckStream& stream : streams) stream.check({9}, true);
  EXPECT_THAT(a->errors(), IsEmpty());
  EXPECT_THAT(b->errors(), IsEmpty());
}

// Its own words, and what it says about trying again, are kept.
TEST(Devices, WhereNoOtherTakesWorkTheErrorIsThatOfTheDevice) {
  const auto a = dear_device(true), b = dear_device();
  ServeConfig config = loopback();
  config.device.task_timeout_ms = 50;
  const House house(Devices{a, b}, config);
  EXPECT_EQ(code_of(house.ask({1, 2, 3})), ErrorCode::kInternal);
  wait_for_metric(house, on_device("volvox_device_up", 0), 0);
  b->refuse_task(0, 1);
  const Reply reply = house.ask({1, 2});
  EXPECT_EQ(code_of(reply), ErrorCode::kOverloaded) << reply.header.error.message;
  EXPECT_GT(reply.header.retry_after_us, 0U);
  EXPECT_EQ(metric(house, "volvox_reruns_total"), 0);
  const LetRun run_a(a);
  wait_for_metric(house, on_device("volvox_device_up", 0), 1);
}

TEST(Devices, EachHasEveryModel) {
  const auto a = dear_device(), b = dear_device();
  const House house(Devices{a, b}, loopback());
  std::promise<Status> unloaded;
  house.server->models().unload("check", 0, [&](Status status) { unloaded.set_value(std::move(status)); });
  EXPECT_TRUE(unloaded.get_future().get());
  const auto until = std::chrono::steady_clock::now() + kLongEnough;
  while (house.server->models().list().size() > 2) {
    ASSERT_LT(std::chrono::steady_clock::now(), until);
    std::this_thread::yield();
  }
  EXPECT_EQ(a->pool(0), nullptr);
  EXPECT_EQ(b->pool(0), nullptr);
  EXPECT_EQ(code_of(house.ask({1, 2})), ErrorCode::kModelNotFound);
  EXPECT_NE(b->pool(1), nullptr) << "the next model's";
}

}  // namespace
}  // namespace volvox
