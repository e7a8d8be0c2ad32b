#include "tests/unit/batching/driver.h"

namespace volvox::toy {
namespace {

using std::chrono::milliseconds;

constexpr Duration kAge = milliseconds(100);

Driver driver_of(Duration age, std::uint32_t state_slots = 4096) {
  SchedulerConfig config = scheduler_config(1, 1, 1, {state_slots, 4096, 4096});
  config.age = age;
  return {config, make_cellular_policy(config), 1};
}

Request of_class(std::uint64_t tag, PriorityClass priority, std::uint32_t length = 1) {
  Request request = lanes_request(tag, chain_plan(), length);
  request.priority = priority;
  return request;
}

// One task at a time; before each, another request of the high class arrives. How many tasks until `tag`
// ends.
int tasks_until_over(Driver& driver, std::uint64_t tag, int at_most) {
  for (int task = 1; task <= at_most; ++task) {
    driver.admit(of_class(1000 + static_cast<std::uint64_t>(task), PriorityClass::kHigh));
    driver.advance(milliseconds(10));
    driver.schedule(0);
    driver.complete(0, driver.in_flight(0));
    if (driver.over().contains(tag)) return task;
  }
  return at_most + 1;
}

TEST(Ageing, WithoutItALowerClassWaitsForEver) {
  Driver driver = driver_of(Duration{0});
  driver.admit(of_class(1, PriorityClass::kLow));
  EXPECT_EQ(tasks_until_over(driver, 1, 200), 201);
}

TEST(Ageing, ALowerClassGetsItsTurnOneClassAtATime) {
  Driver normal = driver_of(kAge);
  normal.admit(of_class(1, PriorityClass::kNormal));
  const int after_one = tasks_until_over(normal, 1, 200);
  EXPECT_GE(after_one, 10);  // 100 ms at 10 ms a task
  EXPECT_LE(after_one, 12);
  Driver low = driver_of(kAge);
  low.admit(of_class(1, PriorityClass::kLow));
  const int after_two = tasks_until_over(low, 1, 200);
  EXPECT_GE(after_two, 20);
  EXPECT_LE(after_two, 22);
}

TEST(Ageing, ReachesRequestsThatWaitForState) {
  Driver driver = driver_of(kAge, kReservedSlots + 2);  // state for one chain
  driver.admit(of_class(1, PriorityClass::kHigh, 20));
  driver.admit(of_class(2, PriorityClass::kLow));
  driver.admit(of_class(3, PriorityClass::kHigh, 20));
  for (int task = 0; task < 25; ++task) {
    driver.advance(milliseconds(10));
    driver.schedule(0);
    driver.complete(0, driver.in_flight(0));
    if (task == 15) driver.admit(of_class(4, PriorityClass::kNormal));
  }
  driver.admit(of_class(5, PriorityClass::kHigh));
  std::vector<std::uint64_t> order;
  while (!driver.scheduler().idle()) {
    driver.schedule(0);
    driver.complete(0, driver.in_flight(0));
    for (const auto& [tag, kind] : driver.over()) {
      if (std::find(order.begin(), order.end(), tag) == order.end()) order.push_back(tag);
    }
  }
  // 2 has become as good as the high ones by then, so it goes before the high one that came later.
  EXPECT_EQ(order, (std::vector<std::uint64_t>{1, 3, 2, 5, 4}));
  driver.check();
}

TEST(Ageing, ARowInARunningBatchCountsInItsNewClass) {
  SchedulerConfig config = scheduler_config(4, 1, 1, {4096, 4096, 4096});
  config.age = kAge;
  Driver driver(config, make_cellular_policy(config), 4);
  driver.admit(of_class(1, PriorityClass::kLow, 30));
  driver.schedule(0);
  driver.complete(0, 1);
  const Frontier& frontier = driver.scheduler().frontier();
  EXPECT_EQ(frontier.ready(kChain, 0, PriorityClass::kLow), 1U);
  for (const PriorityClass next : {PriorityClass::kNormal, PriorityClass::kHigh}) {
    driver.advance(kAge);
    driver.schedule(0);
    driver.complete(0, 1);
    EXPECT_EQ(frontier.ready(kChain, 0, next), 1U);
    EXPECT_EQ(frontier.ready(kChain, 0), 1U);
  }
  driver.run_to_the_end();
  driver.check();
}

}  // namespace
}  // namespace volvox::toy
