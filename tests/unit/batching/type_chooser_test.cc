// A model may bring a policy of its own: docs/extending.md walks through this one.

#include "batching/policy/type_chooser.h"

#include <algorithm>
#include <map>

#include "batching/type_set.h"
#include "tests/unit/batching/driver.h"

namespace volvox::toy {
namespace {

// Of the types that are ready, the one that was learned to be the most urgent.
class ByRank final : public TypeChooser {
 public:
  explicit ByRank(std::map<CellTypeId, int> ranks) : ranks_(std::move(ranks)) {}

  std::optional<Choice> choose(std::span<const ReadyType> ready, const ChoiceMoment&) override {
    const auto best = std::max_element(ready.begin(), ready.end(), [this](const auto& a, const auto& b) {
      return ranks_[a.type] < ranks_[b.type];
    });
    return Choice{best->type, best->rows};
  }

 private:
  std::map<CellTypeId, int> ranks_;
};

// What comes with the model: the ranks, counted from its first type.
class RanksOfTypes final : public TypeChooserMaker {
 public:
  explicit RanksOfTypes(std::vector<int> ranks) : ranks_(std::move(ranks)) {}

  std::unique_ptr<TypeChooser> make(const SchedulerConfig&,
                                    const std::vector<TypeConfig>& types) const override {
    std::map<CellTypeId, int> by_type;
    for (std::size_t i = 0; i < types.size(); ++i) by_type[types[i].id] = ranks_.at(i);
    return std::make_unique<ByRank>(std::move(by_type));
  }

 private:
  std::vector<int> ranks_;
};

constexpr std::uint32_t kMaxBatch = 8;

LanePlan chain_of(CellTypeId type, ModelId model) {
  LanePlan plan = chain_plan();
  plan.model = model;
  plan.lanes[0].type = type;
  return plan;
}

Request chain_request(std::uint64_t tag, const LanePlan& plan, std::uint32_t length) {
  Request request = lanes_request(tag, plan, length);
  request.model = plan.model;
  return request;
}

// Model 1 has two types of its own; all others are model 0's.
SchedulerConfig two_models(std::shared_ptr<const TypeChooserMaker> chooser) {
  SchedulerConfig config = scheduler_config(kMaxBatch, 1, 1, {4096, 64, 64});
  config.models.resize(2);
  config.models[1].id = 1;
  config.models[1].chooser = std::move(chooser);
  config.types[kLayer0].model = config.types[kEncoder].model = 1;
  return config;
}

// Which type runs first where one has a full batch, and the other a single row.
CellTypeId first_of_two(std::shared_ptr<const TypeChooserMaker> chooser) {
  const LanePlan full = chain_of(kLayer0, 1), lonely = chain_of(kEncoder, 1);
  const SchedulerConfig config = two_models(std::move(chooser));
  Driver driver(config, make_cellular_policy(config), kMaxBatch);
  for (std::uint64_t tag = 1; tag <= kMaxBatch; ++tag) driver.admit(chain_request(tag, full, 4));
  driver.admit(chain_request(100, lonely, 4));
  const auto tasks = driver.schedule(0);
  const CellTypeId first = tasks.at(0)->type;
  driver.run_to_the_end();
  driver.check();
  return first;
}

TEST(TypeChooser, OfTheModelDecidesInPlaceOfAlgorithm1) {
  EXPECT_EQ(first_of_two(nullptr), kLayer0) << "Algorithm 1: a full batch goes first";
  EXPECT_EQ(first_of_two(std::make_shared<RanksOfTypes>(std::vector{1, 2})), kEncoder);
  EXPECT_EQ(first_of_two(std::make_shared<RanksOfTypes>(std::vector{2, 1})), kLayer0);
}

TEST(TypeChooser, DecidesNothingForOtherModels) {
  const LanePlan mine = chain_of(kLayer0, 1), others = chain_of(kChain, 0);
  const SchedulerConfig config = two_models(std::make_shared<RanksOfTypes>(std::vector{1, 2}));
  Driver driver(config, make_cellular_policy(config), kMaxBatch);
  std::map<CellTypeId, int> rows;
  for (std::uint64_t tag = 1; tag <= kMaxBatch; ++tag) {
    driver.admit(chain_request(tag, mine, 20));
    driver.admit(chain_request(100 + tag, others, 20));
  }
  for (int i = 0; i < 20; ++i) {
    for (const Task* task : driver.schedule(0)) rows[task->type] += static_cast<int>(task->rows);
    driver.complete(0, driver.in_flight(0));
  }
  EXPECT_EQ(rows[kLayer0], rows[kChain]) << "models of one weight have equal shares";
  driver.run_to_the_end();
  driver.check();
}

TEST(TypeSet, WalksOverWhatIsInAnyInOrder) {
  TypeSet a, b, c;
  for (CellTypeId type : {3U, 64U, 300U}) a.insert(type);
  for (CellTypeId type : {3U, 5U}) b.insert(type);
  b.insert(7);
  b.erase(7);
  b.erase(100'000);
  std::vector<CellTypeId> seen;
  TypeSet::for_each(a, b, c, [&](CellTypeId type) { seen.push_back(type); });
  EXPECT_EQ(seen, (std::vector<CellTypeId>{3, 5, 64, 300}));
}

}  // namespace
}  // namespace volvox::toy
