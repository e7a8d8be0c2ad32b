#pragma once

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "batching/policy/policies.h"
#include "cells/model/reference.h"
#include "install/installation.h"
#include "simulation/chains.h"
#include "simulation/engine.h"
#include "tests/unit/gpu/backends.h"
#include "tests/unit/simulation/models.h"

namespace volvox::gpu {

// How requests are run.
struct Way {
  std::uint32_t max_batch = 24, in_flight = 60, workers = 1;
  CellOptions cells{};
};
using Answers = std::vector<std::vector<std::byte>>;

// Whole models on the device, driven by the scheduler as a server drives it: cohorts that rows join and
// leave, eager parts that run ahead, several queues.
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
    SeededRandom chance(11);
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

}  // namespace volvox::gpu
