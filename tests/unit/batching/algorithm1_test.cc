// Which type of a model runs next, by the rules that batching/policy/type_chooser.h states.

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "batching/policy/type_chooser.h"
#include "tests/unit/batching/driver.h"

namespace volvox::toy {
namespace {

constexpr std::uint32_t kFull = 8, kTypes = 6, kWorkers = 2;

// What a chooser may be shown.
struct Moment final : Frontier {
  struct Type {
    std::uint32_t ready = 0, alone = 0, running = 0;
  };

  std::uint32_t ready(CellTypeId type, WorkerId) const override { return types[type].ready; }
  std::uint32_t ready(CellTypeId type, WorkerId, PriorityClass) const override { return types[type].ready; }
  void ready_types(WorkerId, std::vector<ReadyType>& out) const override {
    out.clear();
    for (CellTypeId type = 0; type < types.size(); ++type) {
      if (types[type].ready > 0) out.push_back({type, types[type].ready, {}});
    }
  }
  std::uint32_t running(CellTypeId type) const override { return types[type].running; }
  std::uint32_t ready_alone(CellTypeId type) const override { return types[type].alone; }
  bool came_together(ModelId) const override { return together; }
  std::optional<TimePoint> waiting_since(CellTypeId, WorkerId) const override { return std::nullopt; }
  std::uint32_t in_flight(WorkerId) const override { return 1; }
  bool anything_ready(WorkerId) const override { return true; }

  std::vector<Type> types = std::vector<Type>(kTypes);
  bool together = false;
};

struct Chooser {
  explicit Chooser(std::vector<std::uint32_t> min_batches = {}) {
    config.workers = kWorkers;
    for (CellTypeId id = 0; id < kTypes; ++id) {
      TypeConfig type;
      type.id = id;
      type.priority = static_cast<std::int32_t>(id);
      type.max_batch = kFull;
      if (id < min_batches.size()) type.min_batch = min_batches[id];
      config.types.push_back(type);
    }
    chooser = make_algorithm1(config, config.types);
  }

  // What it chooses, and runs.
  CellTypeId next(const Moment& moment, WorkerId worker = 0) {
    std::vector<ReadyType> ready;
    moment.ready_types(worker, ready);
    const auto choice = chooser->choose(ready, {.frontier = moment, .worker = worker});
    chooser->on_submitted(worker, choice.value().type);
    return choice->type;
  }
  std::vector<CellTypeId> next(const Moment& moment, std::size_t count) {
    std::vector<CellTypeId> chosen;
    for (std::size_t i = 0; i < count; ++i) chosen.push_back(next(moment));
    return chosen;
  }

  SchedulerConfig config;
  std::unique_ptr<TypeChooser> chooser;
};

using Types = std::vector<CellTypeId>;

TEST(Algorithm1, LetsTypesTakeTurns) {
  Moment moment;
  for (const CellTypeId type : {1U, 2U, 4U}) moment.types[type] = {3, 0, 1};
  EXPECT_EQ(Chooser().next(moment, std::size_t{6}), (Types{4, 2, 1, 4, 2, 1}))
      << "the one closest to an answer first, but none twice before the others";
}

TEST(Algorithm1, PrefersAFullBatchAndThenWhatDoesNotRun) {
  Moment moment;
  moment.types[1] = {kFull, 0, 1};
  moment.types[2] = {3, 0, 0};
  moment.types[4] = {3, 0, 1};
  Chooser chooser;
  EXPECT_EQ(chooser.next(moment), 1U);
  moment.types[1].ready = 3;
  EXPECT_EQ(chooser.next(moment), 2U);
}

TEST(Algorithm1, StaysWithATypeOfWhichItsLeastBatchIsReady) {
  Moment moment;
  moment.types[1] = {4, 0, 1};
  moment.types[4] = {3, 0, 1};
  Chooser stays({1, 4});
  EXPECT_EQ(stays.next(moment), 4U);
  const Types run(stays.config.max_tasks_to_submit, 1);
  EXPECT_EQ(stays.next(moment, run.size()), run);
  EXPECT_EQ(stays.next(moment), 4U) << "then it is the other's turn";
  EXPECT_EQ(stays.next(moment), 1U);
  moment.types[1].ready = 3;
  EXPECT_EQ(stays.next(moment), 4U) << "fewer are ready";
}

TEST(Algorithm1, RequestsThatCameTogetherRunWhatIsReadyEntirelyFirst) {
  Moment moment;
  moment.types[1] = {5, 5, 1};   // all that there is
  moment.types[4] = {6, 20, 0};  // will have more rows later
  moment.together = true;
  EXPECT_EQ(Chooser().next(moment, std::size_t{3}), (Types{1, 1, 1}));
  moment.types[1].alone = 0;
  EXPECT_EQ(Chooser().next(moment), 4U) << "of graphs that is not known: the most rows";
  Chooser last;
  last.config.types[4].is_read = false;
  last.chooser = make_algorithm1(last.config, last.config.types);
  EXPECT_EQ(last.next(moment), 1U) << "nothing waits for it";
  moment.types[4].ready = 4;
  EXPECT_EQ(Chooser().next(moment), 1U);
  moment.types[1].alone = 5;
  moment.together = false;
  EXPECT_EQ(Chooser().next(moment), 4U) << "where others may come it waits for none of them";
}

TEST(Algorithm1, NoReadyTypeIsPassedOverWithoutEnd) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](std::uint32_t below) { return static_cast<std::uint32_t>(random() % below); };
    Chooser chooser({1, 1, 1 + pick(4), 1 + pick(4)});
    Moment moment;
    std::map<std::pair<WorkerId, CellTypeId>, std::uint32_t> passed;
    // Some worlds hold a type back on purpose: another is always full, or always has all its rows.
    const bool biased = pick(2) == 0;
    for (int task = 0; task < 400; ++task) {
      moment.together = pick(4) > 0;
      for (CellTypeId type = 0; type < kTypes; ++type) {
        Moment::Type& one = moment.types[type];
        const bool stays =
            passed[{0, type}] > 0 || passed[{1, type}] > 0;  // what is ready stays so until it runs
        one.ready = (stays ? 1 : 0) + pick(kFull + 1);
        one.alone = one.ready + pick(20);
        one.running = pick(2);
      }
      if (biased) moment.types[5] = {kFull, kFull, 0};
      moment.types[0].ready += 1;
      const WorkerId worker = pick(kWorkers);
      const CellTypeId chosen = chooser.next(moment, worker);
      ASSERT_GT(moment.types[chosen].ready, 0U);
      for (CellTypeId type = 0; type < kTypes; ++type) {
        if (moment.types[type].ready == 0) continue;
        std::uint32_t& by = passed[{worker, type}];
        by = type == chosen ? 0 : by + 1;
        ASSERT_LT(by, kMostPassedOver + kTypes) << "type " << type << ", seed " << seed;
      }
    }
  }
}

// How many tasks requests of these lengths need that come one after the other, but before any has run.
std::uint64_t tasks_of(const LanePlan& plan, const std::vector<std::uint32_t>& lengths, std::uint32_t length1,
                       bool followed = false) {
  const SchedulerConfig config = scheduler_config(64, 1, 2, {4096, 64, 64});
  Driver driver(config, make_cellular_policy(config), 64);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    Request request = lanes_request(i + 1, plan, lengths[i], length1);
    request.report_steps = followed && i == 0;
    driver.admit(std::move(request));
  }
  driver.run_to_the_end();
  driver.check();
  return driver.scheduler().stats().tasks;
}

TEST(Algorithm1, DecodersOfRequestsThatCameTogetherBeginTogether) {
  const std::vector<std::uint32_t> lengths{3, 5, 8, 9, 10, 12};
  EXPECT_EQ(tasks_of(attention_plan(), lengths, 20), 12U + 20U);
  EXPECT_GT(tasks_of(attention_plan(), lengths, 20, true), 12U + 20U)
      << "who follows the steps of an answer does not wait for others";
}

}  // namespace
}  // namespace volvox::toy
