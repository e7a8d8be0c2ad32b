// Clients of one model: each gets as many cells as the others, whatever the others send; where the batches
// bound what is let in, and where state memory does.

#include <map>
#include <random>

#include "batching/first_rows.h"
#include "tests/unit/batching/driver.h"

namespace volvox::toy {
namespace {

constexpr std::uint32_t kRows = 8;
constexpr std::uint64_t kFlood = 1, kLonely = 2;

// How many requests fit into state memory.
class ClientFairness : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  ClientFairness() {
    SchedulerConfig config =
        scheduler_config(kRows, 1, 2, {kReservedSlots + 2 * GetParam(), 64, kReservedSlots + 64});
    config.types.erase(config.types.begin() + 1, config.types.end());  // of a model with one type
    driver_ = std::make_unique<Driver>(config, make_cellular_policy(config), kRows);
  }

  std::uint64_t ask(std::uint64_t client, std::uint32_t steps,
                    PriorityClass priority = PriorityClass::kNormal) {
    Request request = lanes_request(++tags_, chain_plan(), steps);
    request.client = client;
    request.priority = priority;
    driver_->admit(request);
    client_of_[tags_] = client;
    return tags_;
  }
  void ask(std::uint64_t client, std::uint32_t steps, int count) {
    for (; count > 0; --count) ask(client, steps);
  }

  // Tasks run, one after the other.
  void step(int tasks) {
    for (; tasks > 0; --tasks) {
      driver_->schedule(0);
      driver_->complete(0, std::min<std::size_t>(1, driver_->in_flight(0)));
    }
  }
  std::uint64_t cells(std::uint64_t client) const {
    std::uint64_t sum = 0;
    for (const auto& [node, times] : driver_->device().ran()) {
      sum += client_of_.at(std::get<0>(node)) == client ? 1 : 0;
    }
    return sum;
  }
  // Tasks until the request is over.
  int tasks_until_over(std::uint64_t tag) {
    int tasks = 0;
    for (; tasks < 100'000 && !driver_->over().contains(tag); ++tasks) step(1);
    EXPECT_TRUE(driver_->over().contains(tag));
    return tasks;
  }

  std::unique_ptr<Driver> driver_;

 private:
  std::uint64_t tags_ = 0;
  std::map<std::uint64_t, std::uint64_t> client_of_;
};

// Three runs of its own length: the batch that runs, the one that is in, and itself.
TEST_P(ClientFairness, ASingleRequestIsNotBehindAFlood) {
  constexpr std::uint32_t kSteps = 20;
  ask(kFlood, kSteps, 5000);
  step(50);
  for (int i = 0; i < 20; ++i) {
    EXPECT_LE(tasks_until_over(ask(kLonely, kSteps)), static_cast<int>(3 * kSteps) + 2);
    step(i);
  }
  EXPECT_EQ(driver_->scheduler().stats().waiting_clients, 1U);
  driver_->check();
}

TEST_P(ClientFairness, LongAndShortRequestsGetTheSameCells) {
  ask(1, 90, 400);
  ask(2, 6, 5000);
  step(200);
  const double long_before = static_cast<double>(cells(1)), short_before = static_cast<double>(cells(2));
  step(2500);
  const double long_cells = static_cast<double>(cells(1)) - long_before;
  const double short_cells = static_cast<double>(cells(2)) - short_before;
  EXPECT_EQ(driver_->scheduler().stats().waiting_clients, 2U) << "both were backlogged to the end";
  EXPECT_NEAR(long_cells / short_cells, 1.0, 0.1);
  EXPECT_GT(long_cells + short_cells, 0.99 * 2500 * kRows) << "the batches are full";
  driver_->check();
}

// As many come as go, each from a client that nobody has seen: who has waited longer is not behind them.
TEST_P(ClientFairness, NobodyStarvesBehindClientsThatComeAndGo) {
  std::uint64_t stranger = 10;
  for (int i = 0; i < 100; ++i) ask(++stranger, 10);
  const std::uint64_t patient = ask(kLonely, 60);
  int tasks = 0;
  for (; tasks < 1000 && !driver_->over().contains(patient); ++tasks) {
    ask(++stranger, 10);
    step(1);
  }
  EXPECT_LE(tasks, 400);
  driver_->check();
}

TEST_P(ClientFairness, AnUrgentRequestIsNotBehindWhatIsLetIn) {
  ask(kFlood, 20, 1000);
  step(50);
  const std::uint64_t urgent = ask(kFlood, 20, PriorityClass::kHigh);
  EXPECT_LE(tasks_until_over(urgent), GetParam() < 2 * kRows ? 42 : 24);
  driver_->check();
}

TEST(FirstRows, AreThoseThatCanRunAtOnce) {
  const SchedulerConfig config = scheduler_config(kRows, 1, 2, {64, 64, 64});
  EXPECT_EQ(first_rows(lanes_request(1, chain_plan(), 20), config.types), 1U);
  EXPECT_EQ(first_rows(lanes_request(1, eager_plan(), 4), config.types), 4U);
  EXPECT_EQ(first_rows(lanes_request(1, eager_plan(), 20), config.types), 6U) << "its window";
  std::mt19937_64 random(1);
  EXPECT_EQ(first_rows(graph_request(1, random_tree(random, 30, true)), config.types), 30U);
}

// One large tree fills many tasks alone, so that a small one must not come to stand behind a line of them.
TEST(TreeFairness, ASmallTreeIsNotBehindAFloodOfLargeOnes) {
  const SchedulerConfig config = scheduler_config(kRows, 1, 2, {64, 64, 16'384});
  Driver driver(config, make_cellular_policy(config), kRows);
  std::mt19937_64 random(5);
  const auto ask = [&](std::uint64_t tag, std::uint64_t client, std::uint32_t leaves) {
    Request request = graph_request(tag, random_tree(random, leaves, true));
    request.client = client;
    driver.admit(request);
    return request.graph->size();
  };
  const auto step = [&] {
    driver.schedule(0);
    driver.complete(0, std::min<std::size_t>(1, driver.in_flight(0)));
  };
  std::uint32_t nodes = 0;
  for (std::uint64_t tag = 1; tag <= 60; ++tag) nodes = ask(tag, kFlood, 200);
  for (int i = 0; i < 30; ++i) step();
  ask(100, kLonely, 2);
  std::uint32_t tasks = 0;
  for (; tasks < 10'000 && !driver.over().contains(100); ++tasks) step();
  EXPECT_LE(tasks, 4 * nodes / kRows);
  driver.run_to_the_end();
  driver.check();
}

INSTANTIATE_TEST_SUITE_P(Memory, ClientFairness, ::testing::Values(4096U, kRows + 2));

}  // namespace
}  // namespace volvox::toy
