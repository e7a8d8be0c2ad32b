#include "simulation/engine.h"

#include <chrono>
#include <cstring>
#include <memory>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "batching/policy/policies.h"
#include "cells/ir/check_hash.h"
#include "cells/model/reference.h"
#include "device/fake_device.h"
#include "device/timed_device.h"
#include "install/installation.h"
#include "simulation/chains.h"
#include "tests/unit/simulation/models.h"

namespace volvox {
namespace {

using ::testing::IsEmpty;

std::vector<ChainContent> contents(const Model& model, std::size_t count, std::uint32_t longest) {
  SeededRandom chance(5);
  std::vector<ChainContent> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(random_content(model, 1 + static_cast<std::uint32_t>(chance.below(longest)), chance));
  }
  return all;
}

// The hash that a check model must answer.
std::uint64_t expected(const ChainContent& content) {
  std::uint64_t state = 0;
  for (std::uint32_t t = 0; t < content.length; ++t) {
    std::int32_t token = 0;
    std::memcpy(&token, content.inputs[0].data() + 4 * t, 4);
    state = check_hash(state, static_cast<std::uint32_t>(token));
  }
  return state;
}

void expect_hashes(const std::vector<ChainContent>& contents,
                   const std::vector<std::vector<std::byte>>& answers) {
  ASSERT_EQ(answers.size(), contents.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ASSERT_GE(answers[i].size(), 8U);
    std::uint64_t state = 0;
    std::memcpy(&state, answers[i].data(), 8);
    EXPECT_EQ(state, expected(contents[i])) << "request " << i;
  }
}

struct Served {
  Installation installation;
  std::unique_ptr<Engine> engine;
  const InstalledModel& model() const { return *installation.models[0]; }
};

std::unique_ptr<Policy> make_policy(const std::string& name, const SchedulerConfig& config) {
  if (name == "padded") return make_padded_policy(config, {.bucket_width = 5, .max_batch = 8});
  if (name == "depth") return make_depth_policy(config, 8);
  if (name == "agenda") return make_agenda_policy(config, 8);
  return make_cellular_policy(config);
}

Served serve(Device& device, const std::shared_ptr<const Model>& model, const std::string& policy,
             std::uint32_t workers) {
  Served served;
  const std::vector<std::shared_ptr<const Model>> models{model};
  served.installation = install(device, models, {.max_batch = 8}).value();
  const SchedulerConfig config = scheduler_config(served.installation, workers);
  served.engine = Engine::make(device, config, make_policy(policy, config), queue_config(config, 1)).value();
  return served;
}

class Policies : public ::testing::TestWithParam<const char*> {
 protected:
  ModelFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(All, Policies, ::testing::Values("cellular", "padded", "depth", "agenda"));

TEST_P(Policies, EveryStepRunsOnceOnTheFakeDevice) {
  const auto model = folder_.check();
  for (std::uint32_t workers : {1U, 3U}) {
    FakeDevice fresh;
    Served served = serve(fresh, model, GetParam(), workers);
    const auto requests = contents(*model, 200, 40);
    const auto answers = run_chains(*served.engine, fresh, served.model(), requests, 50);
    ASSERT_TRUE(answers) << answers.error().message;
    expect_hashes(requests, *answers);
    EXPECT_THAT(fresh.errors(), IsEmpty());
    std::uint64_t steps = 0, rows = 0;
    for (const ChainContent& c : requests) steps += c.length;
    for (const TypeTotals& t : served.engine->totals()) rows += t.rows;
    if (std::string(GetParam()) == "padded") {
      EXPECT_GE(rows, steps);
    } else {
      EXPECT_EQ(rows, steps);
    }
    EXPECT_TRUE(served.engine->scheduler().idle());
  }
}

TEST_P(Policies, EveryStepRunsOnceOnTheTimedDevice) {
  TimedDevice device({.fixed_us = 5, .per_row_us = 0.1});
  const auto model = folder_.check();
  Served served = serve(device, model, GetParam(), 2);
  const auto requests = contents(*model, 200, 40);
  const auto answers = run_chains(*served.engine, device, served.model(), requests, 50);
  ASSERT_TRUE(answers) << answers.error().message;
  expect_hashes(requests, *answers);
  EXPECT_GT(served.engine->kernel_time().kernel_ns, 0U);
}

TEST_P(Policies, AFailedQueueIsReplaced) {
  FakeDevice device;
  const auto model = folder_.check();
  Served served = serve(device, model, GetParam(), 1);
  const auto requests = contents(*model, 20, 10);
  device.fail_task(0, 3);
  const auto answers = run_chains(*served.engine, device, served.model(), requests, 8);
  ASSERT_FALSE(answers);
  EXPECT_FALSE(served.engine->last_failure().empty());
  const auto again = run_chains(*served.engine, device, served.model(), requests, 8);
  ASSERT_TRUE(again) << again.error().message;
  expect_hashes(requests, *again);
  EXPECT_THAT(device.errors(), IsEmpty());
}

TEST(Installation, AnInterpretedLstmAgreesWithTheReference) {
  ModelFolder folder;
  const NewSizes sizes{.hidden = 12, .input = 7, .vocabulary = 50};
  const auto whole = folder.lstm(sizes, {.eager = false});
  for (const bool eager : {false, true}) {
    FakeDevice device;
    const auto model = folder.lstm(sizes, {.eager = eager});
    Served served = serve(device, model, "cellular", 1);
    const auto requests = contents(*model, 12, 20);
    const auto answers = run_chains(*served.engine, device, served.model(), requests, 12);
    ASSERT_TRUE(answers) << answers.error().message;
    EXPECT_THAT(device.errors(), IsEmpty());
    auto reference = Reference::make(whole);
    ASSERT_TRUE(reference);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const std::span<const std::byte> input = requests[i].inputs[0];
      const auto right = reference->run(std::span(&input, 1));
      ASSERT_TRUE(right) << right.error().message;
      const auto* h = reinterpret_cast<const float*>((*answers)[i].data());
      for (std::size_t k = 0; k < 12; ++k) EXPECT_NEAR(h[k], right->front().reals[k], 1e-5);
    }
  }
}

TEST(Installation, PoolsFollowTheBudget) {
  ModelFolder folder;
  const std::vector<std::shared_ptr<const Model>> models{folder.lstm({.hidden = 64, .vocabulary = 100}),
                                                         folder.check()};
  FakeDevice small, large, fixed;
  const auto a = install(small, models, {.pool_bytes = 1 << 22, .max_batch = 16});
  const auto b = install(large, models, {.pool_bytes = 1 << 28, .max_batch = 16});
  ASSERT_TRUE(a) << a.error().message;
  ASSERT_TRUE(b) << b.error().message;
  ASSERT_EQ(a->pools.size(), b->pools.size());
  EXPECT_EQ(a->models[1]->first_pool, models[0]->pools.size());
  EXPECT_EQ(a->models[1]->first_type, models[0]->types.size());
  for (std::size_t p = 0; p < a->pools.size(); ++p) {
    EXPECT_LE(a->pools[p].slots, b->pools[p].slots);
    EXPECT_GE(a->pools[p].slots, 16U) << "at least a batch fits";
    EXPECT_EQ(a->pools[p].id, p);
  }
  const auto c = install(fixed, models, {.slots = 500});
  ASSERT_TRUE(c);
  for (const PoolConfig& pool : c->pools) EXPECT_EQ(pool.slots, 500U);
  EXPECT_FALSE(install(fixed, models, {})) << "the pools exist already";
  EXPECT_FALSE(install(fixed, {}, {}));
}

TEST(Installation, ResultsLieAlignedOneAfterTheOther) {
  ModelFolder folder;
  Model two = *folder.lstm({.hidden = 5, .vocabulary = 100}, {.eager = false});
  two.outputs = {{.name = "every", .dtype = DType::kF32, .shape = {5}, .every = true},
                 {.name = "last", .dtype = DType::kU64, .shape = {}, .every = false}};
  InstalledModel installed;
  installed.model = std::make_shared<const Model>(two);
  EXPECT_EQ(result_offset(installed, {10}, 0), 0U);
  EXPECT_EQ(result_offset(installed, {10}, 1), 256U) << "ten rows of twenty bytes, rounded up";
  EXPECT_EQ(output_bytes(installed, {10}), 320U);
  EXPECT_EQ(result_rows(installed, {10}, 0), 10U);
  EXPECT_EQ(result_rows(installed, {10}, 1), 1U);
  const std::vector<DeviceAddress> inputs{4096};
  const Request request = lane_request(installed, {10}, inputs, 8192);
  EXPECT_EQ(request.inputs[0].address, 4096U);
  EXPECT_EQ(request.inputs[0].stride_bytes, 4);
  EXPECT_EQ(request.outputs[1].address, 8192U + 256U);
  EXPECT_EQ(request.outputs[0].stride_bytes, 20);
  EXPECT_EQ(request.lengths[0], 10U);
}

}  // namespace
}  // namespace volvox
