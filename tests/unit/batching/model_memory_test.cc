// Models whose requests have state memory of their own, and little of it: what one lacks is no other's
// business.

#include <random>

#include "tests/unit/batching/driver.h"

namespace volvox::toy {
namespace {

enum Model : ModelId { kChains, kEagers, kTrees, kModels };
constexpr std::uint32_t kEagerRing = 3;

const LanePlan& eager_lane_plan() {
  static const LanePlan plan = [] {
    LanePlan made = eager_plan();
    made.lanes.resize(1);
    made.lanes[0].ring = kEagerRing;
    made.lanes[0].pushes[0] = {0, false};
    return made;
  }();
  return plan;
}

NodeGraph the_tree() {
  std::mt19937_64 same(7);
  return random_tree(same, 4, false);
}

std::uint32_t tree_slots() {
  const Request request = graph_request(0, the_tree());
  return std::max(request.graph->suffix_peak(0), request.graph->wanted_slots());
}

// Each model with a pool of its own; how much, in requests.
SchedulerConfig own_memory(std::uint32_t max_batch, std::uint32_t workers, std::uint32_t max_tasks,
                           const std::array<std::uint32_t, kModels>& requests) {
  SchedulerConfig config = scheduler_config(
      max_batch, workers, max_tasks,
      {kReservedSlots + 2 * requests[kChains], kReservedSlots + kEagerRing * requests[kEagers],
       kReservedSlots + tree_slots() * requests[kTrees]});
  config.models = {{.id = kChains}, {.id = kEagers}, {.id = kTrees}};
  config.types[kEager].independent = false;  // its lane is alone: nothing reads its states
  for (TypeConfig& type : config.types) {
    type.model = type.id == kEager ? kEagers : type.id >= kLeaf ? kTrees : kChains;
  }
  return config;
}

Request request_of(Model model, std::uint64_t tag, std::uint32_t steps, PriorityClass priority) {
  Request request = model == kTrees
                        ? graph_request(tag, the_tree())
                        : lanes_request(tag, model == kChains ? chain_plan() : eager_lane_plan(), steps);
  request.model = model;
  request.priority = priority;
  return request;
}

// Of the model, how many requests wait for memory; and whether one of them would find some.
struct Waiting {
  std::uint32_t requests = 0;
  bool fits = false;
};
Waiting waiting(const SchedulerStats& stats, Model model) {
  static const std::uint32_t kSlots[] = {2, kEagerRing, tree_slots()};
  static const PoolId kPools[] = {kStates, kWindow, kGraphs};
  const auto& pool = stats.pools[kPools[model]];
  return {stats.models[model].live - pool.reserved / kSlots[model],
          pool.reserved + kSlots[model] <= pool.slots};
}

class RandomModels {
 public:
  explicit RandomModels(std::uint64_t seed, bool padded) : random_(seed) {
    const std::uint32_t max_batch = 1 + below(5);
    workers_ = 1 + below(2);
    SchedulerConfig config =
        own_memory(max_batch, workers_, 1 + below(3), {1 + below(3), 1 + below(3), 1 + below(3)});
    if (below(2) == 0) config.age = Duration{1000 * (1 + below(60))};
    config.max_overtake = below(4);
    config.queued_batches = 0;
    auto policy = padded ? make_padded_policy(config, {10, max_batch}) : make_cellular_policy(config);
    driver_ = std::make_unique<Driver>(config, std::move(policy), max_batch);
  }

  // What a policy that lets in whoever fits keeps at every moment.
  void run(bool at_every_moment) {
    for (int i = 0; i < 150; ++i) {
      act();
      if (at_every_moment) check_nobody_waits_for_others();
    }
    driver_->run_to_the_end();
    driver_->check();
    EXPECT_EQ(driver_->over().size(), driver_->requests().size());
  }

  static std::uint32_t waited() { return waited_; }

 private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  void act() {
    driver_->advance(Duration{1000});
    const WorkerId worker = below(workers_);
    switch (below(8)) {
      case 0:
      case 1:
      case 2:
        // One model has most of the requests.
        admit(below(3) != 0 ? Model{kChains} : Model(below(kModels)));
        break;
      case 3:
      case 4:
        driver_->schedule(worker);
        break;
      case 5:
      case 6:
        driver_->complete(worker, std::min<std::size_t>(driver_->in_flight(worker), 1 + below(2)));
        break;
      default:
        if (next_tag_ > 0 && below(3) == 0) driver_->cancel(1 + below(next_tag_));
        break;
    }
  }

  void admit(Model model) {
    driver_->admit(request_of(model, ++next_tag_, 1 + below(9), PriorityClass(below(kPriorityClasses))));
  }

  void check_nobody_waits_for_others() {
    const SchedulerStats stats = driver_->scheduler().stats();
    std::uint32_t all = 0;
    for (ModelId m = 0; m < kModels; ++m) {
      const Waiting found = waiting(stats, Model(m));
      all += found.requests;
      EXPECT_FALSE(found.requests > 0 && found.fits)
          << found.requests << " requests of model " << m << " wait, and it has memory for one";
    }
    EXPECT_EQ(stats.waiting_requests, all);
    waited_ += all > 0 ? 1 : 0;
  }

  std::mt19937_64 random_;
  std::uint32_t workers_ = 1, next_tag_ = 0;
  std::unique_ptr<Driver> driver_;
  static inline std::uint32_t waited_ = 0;
};

TEST(ModelMemory, NobodyWaitsWhoseModelHasMemory) {
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    RandomModels(seed, false).run(true);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
  EXPECT_GT(RandomModels::waited(), 10'000U) << "the pools were not tiny";
}

TEST(ModelMemory, PaddedRunsAllModelsToTheEnd) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    RandomModels(seed, true).run(false);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
}

TEST(ModelMemory, PaddedTriesTheNextModelWhenOneIsFull) {
  const SchedulerConfig config = own_memory(4, 2, 1, {1, 1, 1});
  Driver driver(config, make_padded_policy(config, {100, 4}), 4);
  for (std::uint64_t tag = 1; tag <= 3; ++tag) {
    driver.admit(request_of(kChains, tag, 50, PriorityClass::kNormal));
  }
  driver.schedule(0);  // the first chain has all the memory of chains
  driver.admit(request_of(kEagers, 10, 1, PriorityClass::kNormal));
  EXPECT_EQ(driver.schedule(1).size(), 1U) << "the worker idles before chains that do not fit";
  driver.run_to_the_end();
}

// A closed loop of one model that has memory for eight, and 500 in flight, beside a model with plenty.
class FullAndLight {
 public:
  FullAndLight() : config_(own_memory(kMaxBatch, 1, 1, {8, 1000, 1})) {
    driver_ = std::make_unique<Driver>(config_, make_cellular_policy(config_), kMaxBatch);
  }

  void fill() {
    while (full_ < kInFlight + full_over()) ask(kChains, ++full_, 200, PriorityClass::kNormal);
  }
  void ask(Model model, std::uint64_t tag, std::uint32_t steps, PriorityClass priority) {
    driver_->admit(request_of(model, tag, steps, priority));
  }
  // One task runs; each of its rows takes a microsecond.
  void step() {
    for (const Task* task : driver_->schedule(0)) {
      driver_->advance(std::chrono::microseconds(task->rows));
    }
    driver_->complete(0, driver_->in_flight(0));
  }
  Duration time_of(Model model, std::uint64_t tag, std::uint32_t steps,
                   PriorityClass priority = PriorityClass::kNormal) {
    const TimePoint begin = driver_->now();
    ask(model, tag, steps, priority);
    for (int guard = 0; guard < 100'000 && !driver_->over().contains(tag); ++guard) {
      fill();
      step();
    }
    EXPECT_TRUE(driver_->over().contains(tag));
    return driver_->now() - begin;
  }
  std::size_t full_over() const {
    std::size_t over = 0;
    for (const auto& [tag, kind] : driver_->over()) over += tag < kOthers ? 1 : 0;
    return over;
  }
  Driver& driver() { return *driver_; }

  static constexpr std::uint32_t kMaxBatch = 8;
  static constexpr std::uint64_t kInFlight = 500, kOthers = 1'000'000;

 private:
  SchedulerConfig config_;
  std::unique_ptr<Driver> driver_;
  std::uint64_t full_ = 0;
};

TEST(ModelMemory, ALightModelKeepsItsLatencyBesideAFullOne) {
  FullAndLight both;
  both.fill();
  for (int i = 0; i < 300; ++i) both.step();
  constexpr std::uint32_t kSteps = 4;
  const Duration alone = std::chrono::microseconds(kSteps);
  const Duration one_task = std::chrono::microseconds(FullAndLight::kMaxBatch);
  for (std::uint64_t i = 1; i <= 30; ++i) {
    EXPECT_LE(both.time_of(kEagers, FullAndLight::kOthers + i, kSteps), 2 * alone + one_task)
        << "request " << i;
    for (std::uint64_t pause = 0; pause < i % 7; ++pause) both.step();
  }
  both.driver().check();
}

TEST(ModelMemory, AnUrgentRequestOfTheFullModelStartsBeforeItsWaitingNormalOnes) {
  FullAndLight both;
  both.fill();
  for (int i = 0; i < 300; ++i) both.step();
  const std::size_t over = both.full_over();
  both.time_of(kChains, FullAndLight::kOthers + 1, 200, PriorityClass::kHigh);
  EXPECT_LE(both.full_over() - over, 2 * FullAndLight::kMaxBatch)
      << "those that ran, and those that ran beside it";
}

}  // namespace
}  // namespace volvox::toy
