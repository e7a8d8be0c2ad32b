#include "simulation/chains.h"

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "batching/policy/policies.h"
#include "cells/ir/check_hash.h"
#include "cells/model/reference.h"
#include "install/installation.h"
#include "simulation/engine.h"
#include "tests/unit/cells/windowed_models.h"
#include "tests/unit/gpu/backends.h"
#include "tests/unit/simulation/models.h"

// Whole models on the device, driven by the scheduler as a server drives it: cohorts that rows join and
// leave, eager parts that run ahead, several queues.
namespace volvox::gpu {
namespace {

struct Way {
  std::uint32_t max_batch = 24, in_flight = 60, workers = 1;
  CellOptions cells{};
};
using Answers = std::vector<std::vector<std::byte>>;

class GpuChains : public ::testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    auto driver = GetParam().open();
    if (!driver) GTEST_SKIP() << driver.error().message;
  }

  Answers answers(const std::shared_ptr<const Model>& model, const std::vector<ChainContent>& contents,
                  const Way& way) {
    GpuOptions options = small_device(way.cells);
    options.input_bytes = options.result_bytes = 4 << 20;
    options.measure = false;
    auto driver = GetParam().open().value();
    fake_ = std::dynamic_pointer_cast<FakeDriver>(driver);
    auto device = GpuDevice::make(std::move(driver), options).value();
    const auto installed = install(*device, {&model, 1}, {.max_batch = way.max_batch});
    EXPECT_TRUE(installed) << installed.error().message;
    const SchedulerConfig config = scheduler_config(*installed, way.workers);
    auto engine =
        Engine::make(*device, config, make_cellular_policy(config), queue_config(config, 1)).value();
    auto made = run_chains(*engine, *device, *installed->models[0], contents, way.in_flight);
    EXPECT_TRUE(made) << made.error().message;
    return made ? std::move(*made) : Answers(contents.size());
  }

  std::vector<ChainContent> contents(const Model& model, int count) {
    Chance chance(11);
    std::vector<ChainContent> made;
    for (int i = 0; i < count; ++i) {
      made.push_back(random_content(model, 1 + static_cast<std::uint32_t>(chance.below(12)), chance));
    }
    return made;
  }

  void expect_right(const NewSizes& sizes, bool eager, const Way& way, double tolerance) {
    const auto requests = contents(*folder_.lstm(sizes, {.eager = eager}), 80);
    const Answers made = answers(folder_.lstm(sizes, {.eager = eager}), requests, way);
    auto reference = Reference::make(folder_.lstm(sizes, {.eager = false})).value();
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const std::span<const std::byte> input = requests[i].inputs[0];
      const auto exact = reference.run(std::span(&input, 1)).value().front().reals;
      std::vector<float> h(exact.size());
      ASSERT_GE(made[i].size(), h.size() * sizeof(float));
      std::memcpy(h.data(), made[i].data(), h.size() * sizeof(float));
      for (std::size_t k = 0; k < h.size(); ++k) ASSERT_NEAR(h[k], exact[k], tolerance) << "request " << i;
    }
  }

  ModelFolder folder_;
  std::shared_ptr<FakeDriver> fake_;  // of the last answers; none where a GPU gave them
};

TEST_P(GpuChains, LoseDoubleAndMixNoStep) {
  const auto model = folder_.check();
  const auto requests = contents(*model, 500);
  for (const Way& way : {Way{}, Way{.max_batch = 1, .in_flight = 3}, Way{.max_batch = 7, .workers = 2}}) {
    const Answers made = answers(model, requests, way);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      std::uint64_t want = 0, got = 0;
      for (std::size_t t = 0; t < requests[i].length; ++t) {
        std::int32_t token = 0;
        std::memcpy(&token, requests[i].inputs[0].data() + 4 * t, 4);
        want = check_hash(want, static_cast<std::uint64_t>(token));
      }
      std::memcpy(&got, made[i].data(), sizeof got);
      ASSERT_EQ(got, want) << "request " << i;
    }
  }
}

TEST_P(GpuChains, ComputeWhatTheReferenceComputes) {
  const NewSizes sizes{.hidden = 37, .input = 29, .vocabulary = 200};
  for (const bool eager : {true, false}) {
    expect_right(sizes, eager, {}, 1e-5);
    expect_right(sizes, eager, {.workers = 2}, 1e-5);
    expect_right(sizes, eager, {.cells = {.precision = Precision::kBfloat16}}, 2e-2);
  }
}

TEST_P(GpuChains, ComputeTheSameInOneKernel) {
  const NewSizes sizes{.hidden = 32, .input = 64, .vocabulary = 200};
  for (const bool eager : {true, false}) {
    expect_right(sizes, eager, {.cells = {.precision = Precision::kTf32, .path = KernelPath::kFused}}, 1e-3);
  }
}

// On GPUs that have the step of gpu/fused/hopper_lstm.cuh these are its tasks, which begin early.
TEST_P(GpuChains, ComputeTheSameInTasksThatBeginEarly) {
  const NewSizes sizes{.hidden = 64, .input = 64, .vocabulary = 200};
  for (const bool eager : {true, false}) {
    for (const Precision precision : {Precision::kBfloat16, Precision::kFloat16}) {
      const CellOptions cells{.precision = precision, .path = KernelPath::kFused};
      expect_right(sizes, eager, {.cells = cells}, 2e-2);
      // The fake device refuses a task that waits for another one which is not right ahead of it.
      if (fake_ && !eager) {
        EXPECT_GT(fake_->chained_tasks(), 0U);
      }
      expect_right(sizes, eager, {.workers = 2, .cells = cells}, 2e-2);
    }
  }
}

// Clients send the new samples alone; what was before them is a state.
TEST_P(GpuChains, SeeWindowsOfTheirInput) {
  for (const testing_cells::Overlap& overlap : {testing_cells::Overlap{9, 2}, testing_cells::Overlap{6, 4}}) {
    const auto model = testing_cells::hearing_model(overlap, true);
    const auto requests = contents(*model, 60);
    const Answers made = answers(model, requests, {});
    auto reference = Reference::make(testing_cells::hearing_model(overlap, false, {.eager = false})).value();
    for (std::size_t i = 0; i < requests.size(); ++i) {
      std::vector<float> stream(requests[i].inputs[0].size() / sizeof(float));
      std::memcpy(stream.data(), requests[i].inputs[0].data(), stream.size() * sizeof(float));
      const std::vector<float> rows = testing_cells::by_hand(overlap, stream);
      const auto input = std::as_bytes(std::span(rows));
      const auto exact = reference.run(std::span(&input, 1)).value().front().reals;
      std::vector<float> y(exact.size());
      ASSERT_GE(made[i].size(), y.size() * sizeof(float));
      std::memcpy(y.data(), made[i].data(), y.size() * sizeof(float));
      for (std::size_t k = 0; k < y.size(); ++k) ASSERT_NEAR(y[k], exact[k], 1e-5) << "request " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, GpuChains, ::testing::Values(host_backend(), gpu_backend()), backend_name);

}  // namespace
}  // namespace volvox::gpu
