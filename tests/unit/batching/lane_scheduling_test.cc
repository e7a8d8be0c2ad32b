#include "cells/ir/lane_order.h"
#include "tests/unit/batching/driver.h"

namespace volvox::toy {
namespace {

const std::vector<std::uint32_t> kAmple{4096, 4096, 4096};

Driver cellular(std::uint32_t max_batch, std::uint32_t workers, std::uint32_t max_tasks,
                const std::vector<std::uint32_t>& slots = kAmple) {
  const SchedulerConfig config = scheduler_config(max_batch, workers, max_tasks, slots);
  return {config, make_cellular_policy(config), max_batch};
}

// The tags of a task's rows, from the device's own row table: what it ran since the last call.
class Rows {
 public:
  std::vector<std::uint64_t> of_next_task(const Device& device) {
    std::vector<std::uint64_t> tags;
    for (const auto& [node, times] : device.ran()) {
      if (seen_.insert(node).second) tags.push_back(std::get<0>(node));
    }
    std::sort(tags.begin(), tags.end());
    return tags;
  }

 private:
  std::set<Device::Node> seen_;
};

// BatchMaker's Figure 5: eight requests, a batch of four, one task at a time.
TEST(Cellular, ReproducesFigure5) {
  const std::uint32_t lengths[] = {2, 3, 3, 5, 5, 7, 3, 1};
  const int arrivals[] = {0, 0, 0, 0, 1, 2, 2, 4};
  Driver driver = cellular(4, 1, 1);
  Rows rows;
  std::vector<std::vector<std::uint64_t>> tasks;
  std::size_t arrived = 0;
  for (int time = 0; time < 10; ++time) {
    for (; arrived < 8 && arrivals[arrived] <= time; ++arrived) {
      driver.admit(lanes_request(arrived + 1, chain_plan(), lengths[arrived]));
    }
    driver.schedule(0);
    driver.complete(0, driver.in_flight(0));
    tasks.push_back(rows.of_next_task(driver.device()));
  }
  const std::vector<std::vector<std::uint64_t>> expected{
      {1, 2, 3, 4}, {1, 2, 3, 4}, {2, 3, 4, 5}, {4, 5, 6, 7}, {4, 5, 6, 7},
      {5, 6, 7, 8}, {5, 6},       {6},          {6},          {6}};
  EXPECT_EQ(tasks, expected);
  EXPECT_TRUE(driver.scheduler().idle());
  driver.check();
}

// A small queue beside a large one (E²bird §6): each is full at its own limit, and takes no more.
TEST(Cellular, EachWorkerHasALimitOfItsOwn) {
  SchedulerConfig config = scheduler_config(8, 2, 1, kAmple);
  config.worker_batches = {0, 2};
  Driver driver{config, make_cellular_policy(config), 8};
  for (std::uint64_t tag = 1; tag <= 12; ++tag) driver.admit(lanes_request(tag, chain_plan(), 5));
  const auto small = driver.schedule(1), large = driver.schedule(0);
  ASSERT_EQ(small.size(), 1U);
  EXPECT_EQ(small[0]->rows, 2U);
  ASSERT_EQ(large.size(), 1U);
  EXPECT_EQ(large[0]->rows, 8U);
  driver.run_to_the_end();
  EXPECT_TRUE(driver.scheduler().idle());
  driver.check();
}

TEST(Cellular, AnUnchangedCohortChangesNoRow) {
  Driver driver = cellular(8, 1, 4);
  for (std::uint64_t tag = 1; tag <= 8; ++tag) driver.admit(lanes_request(tag, chain_plan(), 100));
  const auto first = driver.schedule(0);
  ASSERT_EQ(first.size(), 4U);
  EXPECT_EQ(first[0]->changes.size(), 8U);
  for (std::size_t i = 1; i < first.size(); ++i) EXPECT_TRUE(first[i]->changes.empty());
}

TEST(Cellular, ALeaversRowGoesToAJoiner) {
  Driver driver = cellular(4, 1, 1);
  for (std::uint64_t tag = 1; tag <= 5; ++tag)
    driver.admit(lanes_request(tag, chain_plan(), tag == 2 ? 1 : 10));
  driver.schedule(0);
  driver.complete(0, 1);
  const auto next = driver.schedule(0);
  ASSERT_EQ(next.size(), 1U);
  ASSERT_EQ(next[0]->changes.size(), 1U);
  EXPECT_EQ(next[0]->changes[0].row, 1U);
  EXPECT_EQ(next[0]->changes[0].from, RowChange::kBind);
}

// The lane below has two slots: it cannot be half of the length ahead, whatever the one above keeps.
TEST(Cellular, AnIndependentLaneTakesWhatTheOneBelowHas) {
  SchedulerConfig config = scheduler_config(8, 1, 4, kAmple);
  config.types[kEncoder].independent = true;
  Driver driver{config, make_cellular_policy(config), 8};
  for (const std::uint32_t length : {1U, 2U, 17U, 40U})
    driver.admit(lanes_request(length, between_plan(), length));
  driver.run_to_the_end();
  EXPECT_TRUE(driver.scheduler().idle());
  driver.check();
}

// Where the one below keeps all, or enough, the one above may let it go ahead.
TEST(Cellular, AnIndependentLaneWaitsWhereItMay) {
  EXPECT_FALSE(LaneOrder(between_plan()).may_wait()[1]);
  LanePlan plan = between_plan();
  plan.lanes[1].ring = 6;
  plan.lanes[2].edges.pop_back();  // nobody waits for its end
  for (const std::uint32_t below : {2U, 3U, 0U}) {
    plan.lanes[0].ring = below;
    EXPECT_EQ(LaneOrder(plan).may_wait()[1], below != 2) << "a ring of " << below;
  }
  plan = between_plan();
  plan.lanes[0].ring = 0;
  plan.lanes[1].may_wait = LaneOrder(plan).may_wait()[1];
  EXPECT_TRUE(plan.lanes[1].may_wait);
  SchedulerConfig config = scheduler_config(8, 1, 4, kAmple);
  config.types[kEncoder].independent = true;
  Driver driver{config, make_cellular_policy(config), 8};
  for (const std::uint32_t length : {1U, 2U, 17U, 40U}) driver.admit(lanes_request(length, plan, length));
  driver.run_to_the_end();
  EXPECT_TRUE(driver.scheduler().idle());
  driver.check();
}

// A stack in a session whose inputs come one at a time: every step goes up through all layers as it comes.
// Layer after layer, the last step of the first and all steps of the two above would be left when the last
// input is there.
TEST(Cellular, AStackIsDoneSoonAfterItsLastInput) {
  constexpr std::uint64_t kSteps = 24, kLayers = 3, kLeftLayerByLayer = 1 + (kLayers - 1) * kSteps;
  Driver driver = cellular(8, 1, 1);
  std::uint64_t left = 0;
  for (std::uint64_t step = 1; step <= kSteps; ++step) {
    driver.admit(lanes_request(step, stack_plan(), 1));
    for (left = 0; !driver.over().contains(step); ++left) {
      ASSERT_LT(left, kLeftLayerByLayer);
      driver.schedule(0);
      driver.complete(0, 1);
    }
  }
  EXPECT_EQ(left, kLayers);
  EXPECT_LE(left * 100, kLeftLayerByLayer * 15);
  driver.check();
}

// No edge inside a request waits for a completion: everything can be submitted before anything is done.
class Withheld : public ::testing::TestWithParam<int> {};

Request withheld_request(int which, std::uint64_t tag) {
  switch (which) {
    case 0:
      return lanes_request(tag, stack_plan(), 20);
    case 1:
      return lanes_request(tag, attention_plan(), 12, 9);
    case 2:
      return lanes_request(tag, eager_plan(), 40);
    case 3:
      return lanes_request(tag, bidirectional_plan(), 15);
    default:
      return lanes_request(tag, seq2seq_plan(), 12, 9);
  }
}

TEST_P(Withheld, EverythingIsSubmittedBeforeAnythingIsDone) {
  Driver driver = cellular(4, 1, 10000);
  std::size_t nodes = 0;
  for (std::uint64_t tag = 1; tag <= 6; ++tag) {
    const Request request = withheld_request(GetParam(), tag);
    nodes += expected_nodes(request).size();
    driver.admit(request);
  }
  std::size_t rows = 0;
  for (const Task* task : driver.schedule(0)) rows += task->rows;
  EXPECT_EQ(rows, nodes);
  driver.run_to_the_end();
  driver.check();
}

TEST_P(Withheld, RunsToTheEndWithTheQueueAlwaysFull) {
  Driver driver = cellular(4, 2, 3);
  for (std::uint64_t tag = 1; tag <= 12; ++tag) driver.admit(withheld_request(GetParam(), tag));
  for (int guard = 0; guard < 10000 && !driver.scheduler().idle(); ++guard) {
    for (WorkerId w : {0U, 1U}) {
      driver.schedule(w);
      if (driver.in_flight(w) > 0) driver.complete(w, 1);
    }
  }
  EXPECT_TRUE(driver.scheduler().idle());
  EXPECT_EQ(driver.over().size(), 12U);
  driver.check();
}

INSTANTIATE_TEST_SUITE_P(Lanes, Withheld, ::testing::Range(0, 5));

TEST(Cellular, AnUrgentRequestIsInTheVeryNextTask) {
  Driver driver = cellular(4, 1, 2);
  for (std::uint64_t tag = 1; tag <= 40; ++tag) driver.admit(lanes_request(tag, chain_plan(), 50));
  driver.schedule(0);
  Request urgent = lanes_request(99, chain_plan(), 3);
  urgent.priority = PriorityClass::kHigh;
  driver.admit(urgent);
  driver.complete(0, 2);
  driver.schedule(0);
  driver.complete(0, 1);
  EXPECT_TRUE(driver.device().ran().contains({99, kChain, 0}));
  driver.run_to_the_end();
  driver.check();
}

TEST(Cellular, ALightModelIsNotStarvedByABusyOne) {
  SchedulerConfig config = scheduler_config(4, 1, 1, kAmple);
  config.models.push_back({1, 1.0});
  config.types[kAttention].model = 1;
  config.types[kEncoder].model = 1;
  Driver driver(config, make_cellular_policy(config), 4);
  for (std::uint64_t tag = 1; tag <= 200; ++tag) driver.admit(lanes_request(tag, chain_plan(), 50));
  for (int i = 0; i < 50; ++i) {
    driver.schedule(0);
    driver.complete(0, 1);
  }
  Request light = lanes_request(999, attention_plan(), 3, 2);
  light.model = 1;
  driver.admit(light);
  int tasks = 0;
  for (; !driver.over().contains(999) && tasks < 100; ++tasks) {
    driver.schedule(0);
    driver.complete(0, 1);
  }
  EXPECT_LE(tasks, 12);  // five of its own, and as much again for the other
}

TEST(Cellular, RefusesWhatCanNeverFit) {
  Driver driver = cellular(4, 1, 1, {8, 8, 8});
  const AdmitResult result = driver.admit(lanes_request(1, attention_plan(), 7, 1));
  EXPECT_EQ(result.kind, AdmitResult::Kind::kNeverFits);
  EXPECT_NE(result.reason.find("slots"), std::string::npos);
  EXPECT_EQ(driver.admit(lanes_request(2, chain_plan(), 0)).kind, AdmitResult::Kind::kNeverFits);
  EXPECT_TRUE(driver.scheduler().idle());
}

// Decoders that read all of an encoder: two fit into a task, and with four steps each no third.
class ListedSteps : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kMost = 10, kLength = 4;

  static SchedulerConfig config(bool spans) {
    SchedulerConfig config = scheduler_config(8, 1, 2, {512, 64, 8});
    config.types[kAttention].max_edges = kMost;
    config.types[kAttention].independent = spans;
    return config;
  }
  // Runs all, and counts the rows of decoders.
  static std::size_t run(Driver& driver) {
    std::size_t rows = 0;
    for (int guard = 0; guard < 1000 && !driver.scheduler().idle(); ++guard) {
      for (const Task* task : driver.schedule(0)) {
        if (task->type != kAttention) continue;
        EXPECT_LE(task->rows * kLength, kMost);
        rows += task->rows;
      }
      if (driver.in_flight(0) > 0) driver.complete(0, 1);
    }
    EXPECT_TRUE(driver.scheduler().idle());
    driver.check();
    return rows;
  }
};

TEST_F(ListedSteps, NoTaskOfACohortListsMoreThanItMay) {
  const SchedulerConfig config = this->config(false);
  Driver driver(config, make_cellular_policy(config), 8);
  for (std::uint64_t tag = 1; tag <= 5; ++tag) driver.admit(lanes_request(tag, attention_plan(), kLength, 6));
  EXPECT_EQ(run(driver), 30U);
}

TEST_F(ListedSteps, TheLowestStepsAsideForAHigherOne) {
  const SchedulerConfig config = this->config(false);
  Driver driver(config, make_cellular_policy(config), 8);
  for (std::uint64_t tag = 1; tag <= 5; ++tag) {
    Request low = lanes_request(tag, attention_plan(), kLength, 40);
    low.priority = PriorityClass::kLow;
    driver.admit(low);
  }
  for (int i = 0; i < 12; ++i) {
    driver.schedule(0);
    driver.complete(0, 1);
  }
  Request high = lanes_request(9, attention_plan(), kLength, 3);
  high.priority = PriorityClass::kHigh;
  driver.admit(high);
  int tasks = 0;
  for (; !driver.over().contains(9) && tasks < 100; ++tasks) {
    driver.schedule(0);
    driver.complete(0, 1);
  }
  EXPECT_LT(tasks, 24);
  EXPECT_EQ(driver.over().size(), 1U) << "the low ones have forty steps each";
  run(driver);
}

TEST_F(ListedSteps, NoSpanListsMoreThanItMay) {
  LanePlan plan = attention_plan();
  plan.lanes[1].ring = 6;
  plan.lanes[1].edges[0] = {0, 0, 0, 0, true, false, LaneEdge::kNone};
  const SchedulerConfig config = this->config(true);
  Driver driver(config, make_cellular_policy(config), 8);
  for (std::uint64_t tag = 1; tag <= 5; ++tag) driver.admit(lanes_request(tag, plan, kLength, 6));
  EXPECT_EQ(run(driver), 30U);
}

TEST_F(ListedSteps, ARequestWhoseOneStepListsMoreNeverFits) {
  const SchedulerConfig config = this->config(false);
  Driver driver(config, make_cellular_policy(config), 8);
  const AdmitResult result = driver.admit(lanes_request(1, attention_plan(), kMost + 1, 1));
  EXPECT_EQ(result.kind, AdmitResult::Kind::kNeverFits);
  EXPECT_NE(result.reason.find("max_edges"), std::string::npos);
  EXPECT_EQ(driver.admit(lanes_request(2, attention_plan(), kMost, 1)).kind, AdmitResult::Kind::kAdmitted);
}

TEST(Cellular, SmallerRequestsMayOvertakeOnlySoOften) {
  SchedulerConfig config = scheduler_config(4, 1, 1, {12, 8, 8});
  config.max_overtake = 2;
  Driver driver(config, make_cellular_policy(config), 4);
  driver.admit(lanes_request(1, chain_plan(), 5));
  EXPECT_EQ(driver.admit(lanes_request(2, stack_plan(), 5)).kind,
            AdmitResult::Kind::kWaiting);  // needs 9 of 10
  for (std::uint64_t tag = 3; tag <= 20; ++tag) driver.admit(lanes_request(tag, chain_plan(), 5));
  std::size_t before_large = 0;
  for (int guard = 0; guard < 1000 && !driver.over().contains(2); ++guard) {
    driver.schedule(0);
    driver.complete(0, driver.in_flight(0));
    if (!driver.over().contains(2)) before_large = driver.over().size();
  }
  EXPECT_LE(before_large, 3U);
  driver.run_to_the_end();
  EXPECT_EQ(driver.over().size(), 20U);
}

TEST(Cellular, AStoppedLaneEndsWhereItWasTold) {
  Driver driver = cellular(4, 1, 3);
  driver.admit(lanes_request(1, stopped_plan(), 100));
  driver.schedule(0);
  driver.complete(0, 1);
  ASSERT_EQ(driver.steps().size(), 1U);
  EXPECT_EQ(driver.steps()[0].step, 0U);
  driver.stop(1, 0, 0);
  EXPECT_TRUE(driver.schedule(0).empty());
  driver.complete(0, driver.in_flight(0));
  EXPECT_EQ(driver.over().at(1), Event::Kind::kDone);
  driver.check();
}

TEST(Cellular, AFailedTaskFailsItsRequestsAndNoOthers) {
  Driver driver = cellular(2, 2, 2);
  for (std::uint64_t tag = 1; tag <= 6; ++tag) driver.admit(lanes_request(tag, chain_plan(), 10));
  driver.schedule(0);
  driver.schedule(1);
  driver.fail(0, 0);
  driver.run_to_the_end();
  std::size_t failed = 0;
  for (const auto& [tag, kind] : driver.over()) failed += kind == Event::Kind::kFailed ? 1 : 0;
  EXPECT_EQ(failed, 2U);
  EXPECT_EQ(driver.over().size(), 6U);
  driver.check();
}

TEST(Cellular, ACancelledRequestIsOverWhenItsTasksAre) {
  Driver driver = cellular(2, 1, 2);
  driver.admit(lanes_request(1, chain_plan(), 10));
  driver.schedule(0);
  driver.cancel(1);
  EXPECT_TRUE(driver.over().empty());
  driver.complete(0, 2);
  EXPECT_EQ(driver.over().at(1), Event::Kind::kCancelled);
  EXPECT_TRUE(driver.scheduler().idle());
}

// Its cohort still knows when to look at lanes that have left, by numbers that the table of requests has not
// any more.
TEST(Cellular, ACohortOutlivesTheTableOfItsBurst) {
  constexpr std::uint64_t kBurst = 1000;
  Driver driver = cellular(1024, 1, 1);
  for (std::uint64_t tag = 1; tag <= kBurst; ++tag) driver.admit(lanes_request(tag, chain_plan(), 200));
  driver.schedule(0);
  driver.complete(0, 1);
  for (std::uint64_t tag = 1; tag <= kBurst; ++tag) driver.cancel(tag);
  ASSERT_TRUE(driver.scheduler().idle());
  std::uint64_t tag = kBurst;
  for (int i = 0; i < 4500; ++i) {
    driver.admit(lanes_request(++tag, stack_plan(), 1));
    driver.run_to_the_end();
  }
  driver.admit(lanes_request(++tag, chain_plan(), 250));
  driver.run_to_the_end();
  EXPECT_EQ(driver.over().at(tag), Event::Kind::kDone);
  driver.check();
}

TEST(Cellular, AnIdleWorkerTakesFromABusyOne) {
  Driver driver = cellular(2, 2, 1);
  for (std::uint64_t tag = 1; tag <= 12; ++tag) driver.admit(lanes_request(tag, chain_plan(), 30));
  driver.schedule(0);
  EXPECT_FALSE(driver.schedule(1).empty());
  driver.run_to_the_end();
  EXPECT_EQ(driver.over().size(), 12U);
  driver.check();
}

}  // namespace
}  // namespace volvox::toy
