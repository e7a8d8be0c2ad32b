#include "batching/due_list.h"
#include "tests/unit/batching/driver.h"

namespace volvox::toy {
namespace {

using std::chrono::milliseconds;

Driver driver_of(std::uint32_t max_batch, std::uint32_t max_tasks, std::uint32_t state_slots = 4096) {
  const SchedulerConfig config = scheduler_config(max_batch, 1, max_tasks, {state_slots, 4096, 4096});
  return {config, make_cellular_policy(config), max_batch};
}

Request due(std::uint64_t tag, std::uint32_t length, TimePoint deadline) {
  Request request = lanes_request(tag, chain_plan(), length);
  request.deadline = deadline;
  return request;
}

TEST(Deadlines, ARequestPastItsOwnRunsNoFurtherTask) {
  Driver driver = driver_of(4, 1);
  driver.admit(due(1, 10, driver.now() + milliseconds(5)));
  driver.admit(lanes_request(2, chain_plan(), 10));
  ASSERT_EQ(driver.schedule(0).size(), 1U);
  driver.advance(milliseconds(5));
  driver.complete(0, 1);
  const auto task = driver.schedule(0);
  ASSERT_EQ(task.size(), 1U);
  EXPECT_EQ(task[0]->rows, 1U);
  EXPECT_EQ(driver.over().at(1), Event::Kind::kExpired);
  driver.run_to_the_end();
  EXPECT_EQ(driver.over().at(2), Event::Kind::kDone);
  EXPECT_EQ(driver.scheduler().stats().requests_expired, 1U);
  driver.check();
}

TEST(Deadlines, ARequestWithATaskInFlightEndsWithIt) {
  Driver driver = driver_of(4, 1);
  driver.admit(due(1, 3, driver.now() + milliseconds(5)));
  ASSERT_EQ(driver.schedule(0).size(), 1U);
  driver.advance(milliseconds(6));
  driver.expire();
  EXPECT_TRUE(driver.over().empty()) << "the device may still write its state";
  driver.complete(0, 1);
  EXPECT_EQ(driver.over().at(1), Event::Kind::kExpired);
  EXPECT_TRUE(driver.scheduler().idle());
}

TEST(Deadlines, OneThatWaitsForStateLeavesTheLine) {
  Driver driver = driver_of(4, 1, kReservedSlots + 2);  // state for one chain
  driver.admit(lanes_request(1, chain_plan(), 3));
  EXPECT_EQ(driver.admit(due(2, 3, driver.now() + milliseconds(1))).kind, AdmitResult::Kind::kWaiting);
  EXPECT_EQ(driver.admit(lanes_request(3, chain_plan(), 3)).kind, AdmitResult::Kind::kWaiting);
  driver.advance(milliseconds(1));
  driver.expire();
  EXPECT_EQ(driver.over().at(2), Event::Kind::kExpired);
  driver.run_to_the_end();
  EXPECT_EQ(driver.over().at(3), Event::Kind::kDone);
}

TEST(Deadlines, TheNextWakeupIsTheEarliestOfThoseThatLive) {
  Driver driver = driver_of(4, 1);
  const TimePoint start = driver.now();
  EXPECT_FALSE(driver.scheduler().next_wakeup().has_value());
  driver.admit(due(1, 1, start + milliseconds(7)));
  driver.admit(due(2, 1, start + milliseconds(3)));
  EXPECT_EQ(driver.scheduler().next_wakeup(), start + milliseconds(3));
  driver.cancel(2);
  driver.expire();
  EXPECT_EQ(driver.scheduler().next_wakeup(), start + milliseconds(7));
  driver.run_to_the_end();
  driver.expire();
  EXPECT_FALSE(driver.scheduler().next_wakeup().has_value());
}

TEST(Deadlines, OfRequestsLongGoneTakeNoRoom) {
  DueList list;
  const auto nobody = [](RequestId) { return false; };
  for (std::uint32_t i = 0; i < 100'000; ++i) list.add(TimePoint{Duration{i}}, {i, 0}, 0, nobody);
  std::size_t looked_at = 0;
  list.take_due(
      TimePoint::max(), [&](RequestId) { return ++looked_at > 100'000; }, [](RequestId) {});
  EXPECT_LT(looked_at, 2000U);
}

}  // namespace
}  // namespace volvox::toy
