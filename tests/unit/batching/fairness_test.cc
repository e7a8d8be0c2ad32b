// Several models on one device: shares by device time, counted in virtual microseconds (a row costs one).
// Each has state memory of its own, for hardly more requests than a batch has rows.

#include <algorithm>
#include <deque>

#include "tests/unit/batching/driver.h"

namespace volvox::toy {
namespace {

constexpr CellTypeId kBusyType = kChain, kLightType = kWord;
constexpr std::uint32_t kFairBatch = 8, kRoom = kFairBatch + 2;

const LanePlan& light_plan() {
  static const LanePlan plan = [] {
    LanePlan made = chain_plan();
    made.lanes[0].type = kLightType;
    made.lanes[0].pool = kGraphs;
    return made;
  }();
  return plan;
}

SchedulerConfig two_models(double light_weight) {
  SchedulerConfig config = scheduler_config(
      kFairBatch, 1, 1, {kReservedSlots + 2 * kRoom, kReservedSlots, kReservedSlots + 2 * kRoom});
  config.models = {{.id = 0}, {.id = 1, .weight = light_weight}};
  config.types[kLightType].model = 1;
  return config;
}

// A busy model that always has more than a batch waiting, and a light one beside it.
class TwoModels {
 public:
  explicit TwoModels(double light_weight = 1.0) : TwoModels(two_models(light_weight)) {}
  explicit TwoModels(const SchedulerConfig& config)
      : driver_(config, make_cellular_policy(config), kFairBatch) {}

  void keep_busy() {
    for (; busy_ < driver_.over().size() + 64; ++busy_) {
      driver_.admit(lanes_request(1 + busy_, chain_plan(), 20));
    }
  }

  // One task ends; its rows are the microseconds that it takes.
  void step() {
    for (const Task* task : driver_.schedule(0)) {
      (task->type == kLightType ? light_us_ : busy_us_) += task->rows;
      ahead_.push_back(task->rows);
    }
    if (ahead_.empty()) return;
    driver_.advance(std::chrono::microseconds(ahead_.front()));
    ahead_.pop_front();
    driver_.complete(0, 1);
  }

  std::uint64_t admit_light(std::uint32_t length) {
    Request request = lanes_request(++light_, light_plan(), length);
    request.model = 1;
    driver_.admit(request);
    return light_;
  }

  Duration time_of_light(std::uint32_t length, bool beside_busy) {
    const std::uint64_t tag = admit_light(length);
    const TimePoint begin = driver_.now();
    for (int guard = 0; guard < 10000 && !driver_.over().contains(tag); ++guard) {
      if (beside_busy) keep_busy();
      step();
    }
    return driver_.now() - begin;
  }

  // Of the busy model requests wait, and not one more has room.
  bool is_out_of_memory() {
    const SchedulerStats stats = driver_.scheduler().stats();
    return stats.waiting_requests > 0 && stats.pools[kStates].reserved == stats.pools[kStates].slots;
  }

  Driver& driver() { return driver_; }
  std::uint64_t light_us() const { return light_us_; }
  std::uint64_t busy_us() const { return busy_us_; }

 private:
  Driver driver_;
  std::uint64_t busy_ = 0, light_ = 1'000'000;
  std::uint64_t light_us_ = 0, busy_us_ = 0;
  std::deque<std::uint32_t> ahead_;  // rows of the tasks in flight
};

TEST(Fairness, ALightModelKeepsItsLatencyBesideAnOverloadedOne) {
  constexpr std::uint32_t kLength = 10;
  const Duration alone = TwoModels().time_of_light(kLength, false);
  EXPECT_EQ(alone, std::chrono::microseconds(kLength));
  TwoModels both;
  for (int i = 0; i < 100; ++i) {
    both.keep_busy();
    both.step();
  }
  EXPECT_TRUE(both.is_out_of_memory());
  const Duration one_task = std::chrono::microseconds(kFairBatch);
  for (int i = 0; i < 50; ++i) {
    const Duration beside = both.time_of_light(kLength, true);
    EXPECT_LE(beside, 2 * alone + one_task) << "request " << i;
    for (int pause = 0; pause < i % 7; ++pause) both.step();
  }
  both.driver().run_to_the_end();
  both.driver().check();
}

TEST(Fairness, WhatWasPutAheadOfALightModelIsMadeGoodToIt) {
  constexpr std::uint32_t kLength = 100;
  SchedulerConfig config = two_models(1.0);
  config.max_tasks_to_submit = 5;
  TwoModels both(config);
  const Duration alone = std::chrono::microseconds(kLength), one_task = std::chrono::microseconds(kFairBatch);
  for (int i = 0; i < 30; ++i) {
    for (int pause = 0; pause < 5 + i % 7; ++pause) {
      both.keep_busy();
      both.step();
    }
    EXPECT_EQ(both.driver().in_flight(0), 4U) << "the busy model is far ahead";
    EXPECT_LE(both.time_of_light(kLength, true), 2 * alone + one_task) << "request " << i;
  }
  both.driver().run_to_the_end();
  both.driver().check();
}

TEST(Fairness, BusyModelsShareTheDeviceByWeight) {
  TwoModels both(3.0);
  for (int i = 0; i < 64; ++i) both.admit_light(4000);
  for (int i = 0; i < 4000; ++i) {
    both.keep_busy();
    both.step();
  }
  EXPECT_TRUE(both.is_out_of_memory());
  EXPECT_NEAR(static_cast<double>(both.light_us()) / static_cast<double>(both.busy_us()), 3.0, 0.1);
  const auto models = both.driver().scheduler().stats().models;
  EXPECT_EQ(models[0].device_us, static_cast<double>(both.busy_us()));
  EXPECT_EQ(models[1].device_us, static_cast<double>(both.light_us()));
}

TEST(Fairness, AModelThatComesToOneThatWasAloneSharesWithItAtOnce) {
  SchedulerConfig config = two_models(1.0);
  const ModelParts light{.config = config.models[1], .types = {config.types[kLightType]}, .pools = {}};
  config.models.pop_back();
  config.types.resize(kBusyType + 1);
  TwoModels both(config);
  const auto run = [&](int steps) {
    const std::uint64_t before = both.busy_us();
    for (int i = 0; i < steps; ++i) {
      both.keep_busy();
      both.step();
    }
    return static_cast<double>(both.busy_us() - before);
  };
  run(3000);
  ASSERT_TRUE(both.driver().scheduler().add_model(light));
  for (int i = 0; i < 64; ++i) both.admit_light(1000);
  const double busy_us = run(1000);
  EXPECT_NEAR(static_cast<double>(both.light_us()) / busy_us, 1.0, 0.1);
}

TEST(Fairness, ARunOfTasksEndsWhenAnotherModelIsDue) {
  SchedulerConfig config = two_models(1.0);
  config.max_tasks_to_submit = 4;
  TwoModels both(config);
  both.keep_busy();
  both.admit_light(40);
  CellTypeId last = kLightType;
  int in_a_row = 0;
  for (const Task* task : both.driver().schedule(0)) {
    in_a_row = task->type == last ? in_a_row + 1 : 1;
    last = task->type;
    if (last == kBusyType) {
      EXPECT_LE(in_a_row, 1);
    }
  }
}

TEST(Fairness, AModelsWaitingRequestsAreBounded) {
  SchedulerConfig config = two_models(1.0);
  config.models[1].max_waiting = 2;
  TwoModels both(config);
  Driver& driver = both.driver();
  const auto ask = [&](std::uint64_t tag) {
    Request request = lanes_request(tag, light_plan(), 3);
    request.model = 1;
    return driver.admit(request).kind;
  };
  EXPECT_EQ(ask(2001), AdmitResult::Kind::kAdmitted);
  EXPECT_EQ(ask(2002), AdmitResult::Kind::kAdmitted);
  EXPECT_EQ(ask(2003), AdmitResult::Kind::kFull);
  EXPECT_EQ(driver.scheduler().stats().models[1].waiting, 2U);
  driver.schedule(0);  // both start
  EXPECT_EQ(driver.scheduler().stats().models[1].waiting, 0U);
  EXPECT_EQ(driver.scheduler().stats().models[1].live, 2U);
  EXPECT_EQ(ask(2004), AdmitResult::Kind::kAdmitted);
  driver.cancel(2004);
  EXPECT_EQ(driver.scheduler().stats().models[1].waiting, 0U);
  Request stranger = lanes_request(2005, chain_plan(), 3);
  stranger.model = 2;
  EXPECT_EQ(driver.admit(stranger).kind, AdmitResult::Kind::kNeverFits);
  both.keep_busy();  // no bound on the other model
  driver.run_to_the_end();
}

}  // namespace
}  // namespace volvox::toy
