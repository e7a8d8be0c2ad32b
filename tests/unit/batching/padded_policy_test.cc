#include "tests/unit/batching/driver.h"

namespace volvox::toy {
namespace {

Driver padded(std::uint32_t width, std::uint32_t max_batch, std::uint32_t workers = 1) {
  const SchedulerConfig config = scheduler_config(max_batch, workers, 1, {4096, 4096, 4096});
  return {config, make_padded_policy(config, {width, max_batch}), max_batch};
}

TEST(Padded, AGroupRunsToItsBucketsEndTogether) {
  Driver driver = padded(10, 4);
  driver.admit(lanes_request(1, chain_plan(), 12));
  driver.admit(lanes_request(2, chain_plan(), 20));
  int tasks = 0;
  while (!driver.scheduler().idle() && tasks < 100) {
    const auto formed = driver.schedule(0);
    ASSERT_EQ(formed.size(), 1U);
    EXPECT_EQ(formed[0]->rows, 2U);
    EXPECT_TRUE(driver.over().empty());
    driver.complete(0, 1);
    ++tasks;
  }
  EXPECT_EQ(tasks, 20);
  EXPECT_EQ(driver.over().size(), 2U);
  driver.check();
  const SchedulerStats stats = driver.scheduler().stats();
  EXPECT_EQ(stats.cells, 32U);
  EXPECT_EQ(stats.rows_executed, 40U);
  EXPECT_EQ(stats.rows_padding, 8U);
}

// Each lane as long as the longest of its kind in the group, rounded up: of 3 and 4 words to 5, of 8 and 6
// steps to 10.
TEST(Padded, AnEncoderAndItsDecoderArePaddedEachToItsOwnBucket) {
  Driver driver = padded(5, 4);
  driver.admit(lanes_request(1, seq2seq_plan(), 3, 8));
  driver.admit(lanes_request(2, seq2seq_plan(), 4, 6));
  driver.run_to_the_end();
  EXPECT_EQ(driver.over().size(), 2U);
  driver.check();
  const SchedulerStats stats = driver.scheduler().stats();
  EXPECT_EQ(stats.cells, 3U + 8 + 4 + 6);
  EXPECT_EQ(stats.rows_executed, 2U * (5 + 10));
}

TEST(Padded, WhatReadsTheEndOfAPaddedLaneReadsItsOwnEnd) {
  for (const LanePlan* plan : {&bidirectional_plan(), &between_plan(), &attention_plan(), &stack_plan()}) {
    Driver driver = padded(10, 4);
    driver.admit(lanes_request(1, *plan, 3, 7));
    driver.admit(lanes_request(2, *plan, 6, 9));
    driver.run_to_the_end();
    driver.check();
    EXPECT_EQ(driver.scheduler().stats().rows_executed, 2U * 10 * plan->lanes.size());
  }
}

// Such as a lane that reads the end of others.
TEST(Padded, WhatHasOneStepIsNotPadded) {
  Driver driver = padded(10, 4);
  driver.admit(lanes_request(1, seq2seq_plan(), 6, 1));
  driver.admit(lanes_request(2, seq2seq_plan(), 9, 1));
  driver.run_to_the_end();
  EXPECT_EQ(driver.scheduler().stats().rows_executed, 2U * (10 + 1));
  driver.check();
}

TEST(Padded, ARequestThatFillsTheMemoryRunsWithoutPadding) {
  const SchedulerConfig config = scheduler_config(4, 1, 1, {kReservedSlots + 4, 4096, 4096});
  Driver driver(config, make_padded_policy(config, {10, 4}), 4);
  driver.admit(lanes_request(1, attention_plan(), 2, 2));
  driver.run_to_the_end();
  EXPECT_EQ(driver.over().at(1), Event::Kind::kDone);
  EXPECT_EQ(driver.scheduler().stats().rows_executed, 4U);
  driver.check();
}

TEST(Padded, LengthsOfDifferentBucketsNeverShareATask) {
  Driver driver = padded(5, 8);
  for (std::uint32_t length = 1; length <= 20; ++length)
    driver.admit(lanes_request(length, chain_plan(), length));
  int groups = 0;
  while (!driver.scheduler().idle() && groups < 1000) {
    for (const Task* task : driver.schedule(0)) {
      EXPECT_LE(task->rows, 5U);
      groups += task->changes.empty() ? 0 : 1;
    }
    driver.complete(0, driver.in_flight(0));
  }
  EXPECT_EQ(groups, 4);
  driver.check();
}

TEST(Padded, BucketsTakeTurns) {
  Driver driver = padded(10, 2);
  for (std::uint64_t tag = 1; tag <= 6; ++tag) driver.admit(lanes_request(tag, chain_plan(), 5));
  driver.admit(lanes_request(7, chain_plan(), 15));
  std::size_t done_before = 0;
  while (!driver.over().contains(7) && !driver.scheduler().idle()) {
    driver.schedule(0);
    driver.complete(0, driver.in_flight(0));
    if (!driver.over().contains(7)) done_before = driver.over().size();
  }
  EXPECT_LE(done_before, 2U);
}

TEST(Padded, AnIdleWorkerNeverWaitsForAFullBatch) {
  Driver driver = padded(10, 8, 2);
  driver.admit(lanes_request(1, chain_plan(), 3));
  EXPECT_EQ(driver.schedule(0).size(), 1U);
  driver.admit(lanes_request(2, chain_plan(), 3));
  EXPECT_EQ(driver.schedule(1).size(), 1U);
  driver.run_to_the_end();
  EXPECT_EQ(driver.over().size(), 2U);
}

TEST(Padded, ACancelledRequestLeavesItsBucket) {
  Driver driver = padded(10, 8);
  driver.admit(lanes_request(1, chain_plan(), 3));
  driver.cancel(1);
  EXPECT_EQ(driver.over().at(1), Event::Kind::kCancelled);
  EXPECT_TRUE(driver.schedule(0).empty());
  EXPECT_TRUE(driver.scheduler().idle());
}

}  // namespace
}  // namespace volvox::toy
