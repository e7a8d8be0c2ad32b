// Models that come and go while others run: the scheduler's invariants hold, and nothing is left behind.

#include <array>
#include <random>

#include "tests/unit/batching/driver.h"

namespace volvox::toy {
namespace {

constexpr std::uint32_t kMaxBatch = 6;
constexpr std::uint32_t kModels = 4;

// The toy cell types as models: two of chains, one with a pool of its own, and graphs with theirs.
ModelId model_of(CellTypeId type) {
  if (type == kChain) return 0;
  if (type == kEager || type == kCore) return 2;
  return type >= kLeaf ? 3 : 1;
}

CellTypeId first_type_of(const Request& request) {
  return request.graph != nullptr ? request.graph->types().front() : request.plan->lanes[0].type;
}

class ChangingModels {
 public:
  explicit ChangingModels(std::uint64_t seed) : random_(seed) {
    const std::uint32_t workers = 1 + below(2);
    workers_ = workers;
    all_ = scheduler_config(kMaxBatch, workers, 1 + below(4), {2048, 64, 256});
    for (TypeConfig& type : all_.types) type.model = model_of(type.id);
    SchedulerConfig first = all_;  // the chains' pool belongs to nobody, so that it stays
    first.types.clear();
    first.models.clear();
    driver_ = std::make_unique<Driver>(first, make_cellular_policy(first), kMaxBatch);
  }

  void run() {
    for (int i = 0; i < 300; ++i) act();
    driver_->run_to_the_end();
    driver_->check();
    for (ModelId id = 0; id < kModels; ++id) EXPECT_TRUE(driver_->scheduler().remove_model(id));
    const SchedulerStats stats = driver_->scheduler().stats();
    for (const auto& pool : stats.pools) EXPECT_EQ(pool.reserved + pool.used, 0U);
    for (const auto& model : stats.models) EXPECT_EQ(model.live + model.waiting, 0U);
    EXPECT_EQ(driver_->over().size(), driver_->requests().size());
  }

 private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  ModelParts parts(ModelId id) {
    ModelParts parts;
    parts.config = {.id = id, .weight = 1.0 + below(4)};
    for (TypeConfig type : all_.types) {
      type.max_batch = 1 + below(kMaxBatch);  // another version may differ
      if (type.model == id) parts.types.push_back(type);
    }
    if (id == 2) parts.pools.push_back(all_.pools[kWindow]);
    if (id == 3) parts.pools.push_back(all_.pools[kGraphs]);
    return parts;
  }

  std::uint32_t live(ModelId id) const {
    const auto models = driver_->scheduler().stats().models;
    return id < models.size() ? models[id].live : 0;
  }

  void act() {
    driver_->advance(Duration{1000});
    const WorkerId worker = below(workers_);
    switch (below(10)) {
      case 0:
        return change(below(kModels));
      case 1:
      case 2:
        return admit();
      case 3:
      case 4:
      case 5:
        driver_->schedule(worker);
        return;
      case 6:
        if (below(8) == 0 && driver_->in_flight(worker) > 0) driver_->fail(worker, below(2));
        return;
      default:
        if (driver_->in_flight(worker) > 0)
          driver_->complete(worker, 1 + below(static_cast<std::uint32_t>(driver_->in_flight(worker))));
    }
  }

  // Goes if nothing of it lives, and comes back, sometimes without having been told to go.
  void change(ModelId id) {
    Scheduler& scheduler = driver_->scheduler();
    const bool idle = live(id) == 0;
    if (below(2) == 0) {
      EXPECT_EQ(scheduler.remove_model(id), idle || !scheduler.has_model(id));
    } else {
      EXPECT_EQ(scheduler.add_model(parts(id)).has_value(), idle);
    }
  }

  void admit() {
    Request request = random_request(random_, ++last_tag_);
    request.model = model_of(first_type_of(request));
    if (!driver_->scheduler().has_model(request.model)) {
      ASSERT_TRUE(driver_->scheduler().add_model(parts(request.model)));
    }
    const AdmitResult result = driver_->admit(request);
    ASSERT_TRUE(result.kind == AdmitResult::Kind::kAdmitted || result.kind == AdmitResult::Kind::kWaiting)
        << result.reason;
    if (below(12) == 0) driver_->cancel(last_tag_);
  }

  std::mt19937_64 random_;
  std::uint32_t workers_ = 1;
  std::uint64_t last_tag_ = 0;
  SchedulerConfig all_;
  std::unique_ptr<Driver> driver_;
};

TEST(ChangingModels, KeepEveryInvariant) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    ChangingModels(seed).run();
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
}

TEST(ChangingModels, AModelWithoutRequestsTakesPartAgainUnderItsOldNumbers) {
  SchedulerConfig config = scheduler_config(kMaxBatch, 1, 1, {64, 64, 64});
  Driver driver(config, make_cellular_policy(config), kMaxBatch);
  driver.admit(lanes_request(1, chain_plan(), 3));
  EXPECT_FALSE(driver.scheduler().remove_model(0)) << "a request lives";
  ModelParts other;
  other.config.id = 5;
  other.types = {config.types[kChain]};
  other.types[0].model = 5;
  EXPECT_FALSE(driver.scheduler().add_model(other)) << "its type is another's, which lives";
  driver.run_to_the_end();
  EXPECT_TRUE(driver.scheduler().add_model(other));
  EXPECT_FALSE(driver.scheduler().has_model(0)) << "the new owner of a type drives the old one out";
  EXPECT_EQ(driver.admit(lanes_request(2, chain_plan(), 3)).kind, AdmitResult::Kind::kNeverFits);
  Request request = lanes_request(3, chain_plan(), 3);
  request.model = 5;
  EXPECT_EQ(driver.admit(request).kind, AdmitResult::Kind::kAdmitted);
  driver.run_to_the_end();
  driver.check();
}

}  // namespace
}  // namespace volvox::toy
