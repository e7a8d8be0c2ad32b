#include "tests/unit/batching/driver.h"

namespace volvox::toy {
namespace {

Driver driver_of(std::uint32_t workers) {
  const SchedulerConfig config = scheduler_config(2, workers, 1, {4096, 4096, 4096});
  return {config, make_cellular_policy(config), 2};
}

TEST(Stall, FailsWhatItHoldsAndKeepsItsMemoryUntilItEnds) {
  Driver driver = driver_of(1);
  for (std::uint64_t tag = 1; tag <= 3; ++tag) driver.admit(lanes_request(tag, chain_plan(), 5));
  ASSERT_EQ(driver.schedule(0).size(), 1U);
  driver.suspend(0);
  EXPECT_EQ(driver.stuck(), (std::set<std::uint64_t>{1, 2}));
  EXPECT_TRUE(driver.over().empty());
  EXPECT_TRUE(driver.schedule(0).empty()) << "a worker that hangs gets no tasks";
  EXPECT_GT(driver.scheduler().stats().pools[kStates].used, 2U);
  driver.complete(0, 1);
  EXPECT_EQ(driver.over().at(1), Event::Kind::kFailed);
  EXPECT_EQ(driver.over().at(2), Event::Kind::kFailed);
  driver.run_to_the_end();  // it works again
  EXPECT_EQ(driver.over().at(3), Event::Kind::kDone);
  driver.check();
}

TEST(Stall, TellsOfWhatWasCancelledBefore) {
  Driver driver = driver_of(1);
  for (std::uint64_t tag = 1; tag <= 3; ++tag) driver.admit(lanes_request(tag, chain_plan(), 5));
  ASSERT_EQ(driver.schedule(0).size(), 1U);
  driver.cancel(1);
  EXPECT_TRUE(driver.over().empty()) << "its row is in flight";
  driver.suspend(0);
  EXPECT_EQ(driver.stuck(), (std::set<std::uint64_t>{1, 2}));
  driver.cancel(3);
  EXPECT_EQ(driver.over().at(3), Event::Kind::kCancelled) << "nothing of it is in flight";
  driver.complete(0, 1);
  EXPECT_EQ(driver.over().at(1), Event::Kind::kFailed);
  driver.check();
}

TEST(Stall, TheOtherWorkersGoOn) {
  Driver driver = driver_of(2);
  for (std::uint64_t tag = 1; tag <= 6; ++tag) driver.admit(lanes_request(tag, chain_plan(), 5));
  driver.schedule(0);
  driver.suspend(0);
  for (int task = 0; task < 100; ++task) {
    driver.schedule(1);
    driver.complete(1, driver.in_flight(1));
  }
  for (std::uint64_t tag = 3; tag <= 6; ++tag) EXPECT_EQ(driver.over().at(tag), Event::Kind::kDone);
  EXPECT_EQ(driver.over().size(), 4U);
  driver.fail(0, 0);  // at last
  EXPECT_EQ(driver.over().at(1), Event::Kind::kFailed);
  EXPECT_TRUE(driver.scheduler().idle());
  driver.check();
}

TEST(Stall, AnIdleWorkerCannotHang) {
  Driver driver = driver_of(1);
  driver.suspend(0);
  driver.admit(lanes_request(1, chain_plan(), 2));
  driver.run_to_the_end();
  EXPECT_EQ(driver.over().at(1), Event::Kind::kDone);
}

}  // namespace
}  // namespace volvox::toy
